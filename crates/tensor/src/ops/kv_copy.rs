use super::one;
use crate::op::{Arrays, Consumed, Cost, Mismatch, OpDef, Operands, Types};
use crate::step::{GROUPS, StepView};
use crate::{Dim, Sizes, Type};

/// `(cache) -> cache`: the first places of pages go to other pages, as the step says for the layer group of the cache
/// ([`PageCopy`](crate::step::PageCopy)). A cache is any paged state: keys, values or the history of tokens.
///
/// Sequences with a common beginning share its pages. A sequence that is about to write into such a page gets a copy of
/// it first, because the others still read what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvCopy;

impl OpDef for KvCopy {
    fn name(&self) -> &'static str {
        "kv_copy"
    }

    fn consumes(&self) -> Consumed {
        Consumed::from_slice(&[0])
    }

    fn infer(&self, ins: &Operands) -> Result<Types, Mismatch> {
        ins.count(1, 1)?;
        let paged = |c: &Type| matches!(c.rows, Dim::Slots { group, heads } if group < GROUPS && heads > 0);
        let cache = ins.some(0, "a state [heads Slots, n]", |c| c.state && paged(c))?;
        Ok(Types::from_slice(&[cache]))
    }

    fn eval(&self, step: &StepView, mut ins: Arrays) -> Arrays {
        let mut cache = ins.remove(0);
        let (lie, page, bytes) = (cache.cache(), step.header.page as usize, cache.row_bytes());
        for copy in step.copies_in(cache.group()) {
            for head in 0..lie.heads {
                for place in 0..copy.places as usize {
                    let row = |page_number: u32| lie.row(head, page_number as usize * page + place);
                    let (from, to) = (row(copy.from) * bytes, row(copy.to) * bytes);
                    cache.bytes_mut().copy_within(from..from + bytes, to);
                }
            }
        }
        one(cache)
    }

    /// Nothing: how much is copied is only in the step, and most steps copy nothing.
    fn cost(&self, _ins: &[Type], _outs: &[Type], _sizes: &Sizes) -> Cost {
        Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::RUN;
    use crate::ops::HISTORY;
    use crate::step::{PageCopy, StepBuffer};
    use crate::{Array, DType, Op, Slots};

    /// Tokens per page; a page of group 1 crosses the border of a run.
    const PAGE: usize = 3;
    const SIZES: Sizes = Sizes { rows: 0, logit_rows: 0, slots: Slots::new([5 * PAGE, RUN + 5, 0, 0]) };

    /// A cache of this type in which the bytes of each row differ from those of its neighbours, and the cache after a step.
    fn copied(ty: &Type, copies: &[PageCopy]) -> [Array; 2] {
        let mut cache = Array::of(ty, &SIZES).unwrap();
        cache.bytes_mut().iter_mut().enumerate().for_each(|(i, byte)| *byte = (i % 251) as u8);
        let mut buffer = StepBuffer::with_capacity(PAGE, 0, 0, 0);
        copies.iter().for_each(|copy| buffer.copy(*copy));
        let words = buffer.encode(0, 0).to_vec();
        let ins = Arrays::from_iter([cache.clone()]);
        let after = Op::from(KvCopy).eval(&StepView::new(&words).unwrap(), ins).remove(0);
        [cache, after]
    }

    #[test]
    fn the_first_places_of_a_page_are_copied_for_all_heads_of_its_group() {
        let border = (RUN / PAGE) as u32;
        let copies = [(0, 4, 0, 3), (0, 4, 2, 1), (0, 1, 3, 0), (1, border, 7, 3), (1, 8, border + 1, 2)];
        let copies = copies.map(|(group, from, to, places)| PageCopy { group, from, to, places });
        let caches = [DType::F32, DType::F16, DType::Q8_0].map(|dtype| [0, 1].map(|g| Type::cache(g, dtype, 2, 32)));
        let shared = [0, 1].map(|group| Type::cache(group, DType::Q8_0, 2, 16));
        for ty in caches.into_iter().flatten().chain(shared).chain([HISTORY]) {
            let [before, after] = copied(&ty, &copies);
            let lie = before.cache();
            assert_eq!(lie.heads, ty.rows.heads());
            for (head, place) in (0..lie.heads).flat_map(|head| (0..lie.slots).map(move |place| (head, place))) {
                let (page, at) = (place / PAGE, place % PAGE);
                let hit = |copy: &&PageCopy| {
                    copy.group as usize == ty.rows.group() && copy.to as usize == page && at < copy.places as usize
                };
                let source = copies.iter().find(hit).map_or(place, |copy| copy.from as usize * PAGE + at);
                let [found, expected] =
                    [after.row_bytes_of(lie.row(head, place)), before.row_bytes_of(lie.row(head, source))];
                assert_eq!(found, expected, "{ty}, head {head}, place {place}");
            }
        }
    }

    #[test]
    fn only_a_paged_state_can_be_copied() {
        let error = |ty: Type| Op::from(KvCopy).infer(&[ty]).unwrap_err().to_string();
        assert_eq!(
            error(Type { rows: Dim::N(4), ..HISTORY }),
            "operand 0 is state u32[4, 1], expected a state [heads Slots, n]"
        );
        let cache = Type::cache(1, DType::F16, 2, 8);
        assert_eq!(Op::from(KvCopy).infer(&[cache]).unwrap()[..], [cache]);
        let value = Type { state: false, ..cache };
        assert_eq!(error(value), "operand 0 is f16[2 Slots(1), 8], expected a state [heads Slots, n]");
        let group = Type::cache(GROUPS, DType::F16, 2, 8);
        assert_eq!(error(group), "operand 0 is state f16[2 Slots(4), 8], expected a state [heads Slots, n]");
    }
}
