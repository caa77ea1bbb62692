//! The layout of a cache.

use crate::{DType, Dim, Type};

/// The number of places of a head that are stored contiguously: long enough for fast reads, and short enough to be
/// filled by a short sequence.
pub const RUN: usize = 1024;

/// A cache of keys or values as a matrix with one row per place and head. The first [`RUN`] places of the first head
/// are contiguous, followed by the same places of the second head, and so on; the next places of the first head follow
/// after the last head. Attention, which visits the positions of one head after the other, therefore reads long
/// contiguous ranges of memory, and a sequence of few tokens touches few bytes of a large cache.
///
/// ```
/// use inkstone_tensor::cache::{Cache, RUN};
///
/// let cache = Cache { heads: 2, slots: RUN + 10 };
/// assert_eq!([cache.row(0, 0), cache.row(0, 1), cache.row(1, 0)], [0, 1, RUN]);
/// assert_eq!([cache.row(0, RUN), cache.row(1, RUN), cache.row(1, RUN + 9)], [2 * RUN, 2 * RUN + 10, 2 * RUN + 19]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The number of heads that are stored separately.
    pub heads: usize,
    /// Places of a head.
    pub slots: usize,
}

impl Cache {
    /// A matrix of type `ty`, of so many rows in all, as a cache; one of another type has one head.
    pub fn of(ty: &Type, rows: usize) -> Cache {
        let heads = ty.rows.heads();
        Cache { heads, slots: rows / heads }
    }

    /// The row of a head at a place.
    ///
    /// # Panics
    /// If there is no such head or place.
    #[inline(always)]
    pub fn row(self, head: usize, place: usize) -> usize {
        let Cache { heads, slots } = self;
        assert!(head < heads && place < slots, "head {head} of {heads}, place {place} of {slots}");
        let first = place - place % RUN;
        first * heads + head * RUN.min(slots - first) + place % RUN
    }
}

impl Type {
    /// A cache in a layer group, with rows of `dim` values for each of `heads` heads: apart where a row is whole blocks
    /// of `dtype`, else in one row for all heads.
    pub fn cache(group: usize, dtype: DType, heads: usize, dim: usize) -> Type {
        let (apart, cols) =
            if dim.is_multiple_of(dtype.block()) { (heads, dim) } else { (1, heads.saturating_mul(dim)) };
        Type::new(dtype, Dim::Slots { group, heads: apart }, cols).state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_that_of_one_head_and_place() {
        for (heads, slots) in [(1, 5), (3, 1), (3, RUN), (2, RUN + 1), (5, 3 * RUN - 7)] {
            let cache = Cache { heads, slots };
            let mut rows: Vec<usize> =
                (0..heads).flat_map(|head| (0..slots).map(move |place| cache.row(head, place))).collect();
            rows.sort_unstable();
            assert!(rows.into_iter().eq(0..heads * slots), "{cache:?}");
        }
    }

    #[test]
    fn heads_that_are_no_whole_blocks_share_a_row() {
        assert_eq!(Type::cache(0, DType::F16, 8, 80).to_string(), "state f16[8 Slots, 80]");
        assert_eq!(Type::cache(0, DType::Q8_0, 8, 80).to_string(), "state q8_0[Slots, 640]");
        assert_eq!(Type::cache(1, DType::F16, 8, 80).to_string(), "state f16[8 Slots(1), 80]");
        assert_eq!(Type::cache(3, DType::Q8_0, 8, 80).to_string(), "state q8_0[Slots(3), 640]");
    }
}
