//! The values that definitions compute with.

use crate::cache::Cache;
use crate::source::{SharedBytes, WeightBytes};
use crate::{DType, Dim, Sizes, Type};
use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};
use std::fmt;
use std::sync::Arc;

/// A matrix in memory, in any dtype. Cloning shares the data; `*_mut` copies only if it is shared, so a linear state,
/// which has one owner, is updated in place.
#[derive(Clone)]
pub struct Array {
    dtype: DType,
    rows: usize,
    cols: usize,
    row_bytes: usize,
    group: usize,
    heads: usize,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Owned(Arc<Vec<u32>>),
    Shared { bytes: SharedBytes, offset: usize, len: usize },
}

/// Memory that could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for {bytes} bytes")]
pub struct NoMemory {
    /// How much was asked for.
    pub bytes: u64,
}

impl NoMemory {
    /// Ends a definition with an error. `eval` returns values instead of results, so that its code resembles its
    /// formula; this function unwinds with the error as payload and prints nothing. A caller that evaluates definitions
    /// with untrusted sizes catches it.
    pub(crate) fn unwind(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }

    fn of<T>(n: usize) -> NoMemory {
        NoMemory { bytes: n.saturating_mul(size_of::<T>()) as u64 }
    }
}

/// Working memory of a definition: `n` zeros.
pub(crate) fn zeros<T: Zeroable>(n: usize) -> Vec<T> {
    let memory = bytemuck::allocation::try_zeroed_slice_box(n);
    memory.unwrap_or_else(|()| NoMemory::of::<T>(n).unwind()).into_vec()
}

/// Working memory of a definition: `n` values.
pub(crate) fn collect<T>(n: usize, values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    if all.try_reserve_exact(n).is_err() {
        NoMemory::of::<T>(n).unwind();
    }
    all.extend(values.take(n));
    all
}

impl Array {
    /// A matrix of zeros; memory is committed when it is touched.
    ///
    /// # Errors
    /// The size overflows, is not a whole number of blocks, or can't be allocated.
    pub fn zeros(dtype: DType, rows: usize, cols: usize) -> Result<Array, NoMemory> {
        Array::of(&Type::new(dtype, Dim::N(rows), cols), &Sizes::default())
    }

    /// A value of type `ty` in a step of these sizes, of zeros; memory is committed when it is touched.
    ///
    /// # Errors
    /// As [`Array::zeros`].
    pub fn of(ty: &Type, sizes: &Sizes) -> Result<Array, NoMemory> {
        let Type { dtype, cols, .. } = *ty;
        let (rows, group, heads) = (ty.rows.at(sizes), ty.rows.group(), ty.rows.heads());
        let size = dtype.row_bytes(cols).and_then(|row_bytes| Some((row_bytes, row_bytes.checked_mul(rows)?)));
        let (row_bytes, bytes) = size.ok_or(NoMemory { bytes: u64::MAX })?;
        let words = bytemuck::allocation::try_zeroed_slice_box::<u32>(bytes.div_ceil(4))
            .map_err(|()| NoMemory { bytes: bytes as u64 })?;
        Ok(Array { dtype, rows, cols, row_bytes, group, heads, data: Data::Owned(Arc::new(words.into_vec())) })
    }

    /// A matrix of f32 from its values, row by row.
    ///
    /// # Panics
    /// If the length of `values` is not a whole number of rows.
    pub fn from_f32(cols: usize, values: Vec<f32>) -> Array {
        Array::from_words(DType::F32, cols, bytemuck::cast_vec(values))
    }

    /// A matrix of u32 from its values, row by row.
    ///
    /// # Panics
    /// If the length of `values` is not a whole number of rows.
    pub fn from_u32(cols: usize, values: Vec<u32>) -> Array {
        Array::from_words(DType::U32, cols, values)
    }

    fn from_words(dtype: DType, cols: usize, words: Vec<u32>) -> Array {
        assert!(cols > 0 && words.len().is_multiple_of(cols), "{} values do not form rows of {cols}", words.len());
        Array {
            dtype,
            rows: words.len() / cols,
            cols,
            row_bytes: 4 * cols,
            group: 0,
            heads: 1,
            data: Data::Owned(Arc::new(words)),
        }
    }

    /// A matrix of f32 whose row `r` is written by `f(r, row)`.
    pub fn from_rows(rows: usize, cols: usize, mut f: impl FnMut(usize, &mut [f32])) -> Array {
        let mut values = zeros::<f32>(rows.saturating_mul(cols));
        values.chunks_exact_mut(cols.max(1)).enumerate().for_each(|(r, row)| f(r, row));
        Array {
            dtype: DType::F32,
            rows,
            cols,
            row_bytes: 4 * cols,
            group: 0,
            heads: 1,
            data: Data::Owned(Arc::new(bytemuck::cast_vec(values))),
        }
    }

    /// A matrix that reads the bytes of a weight where they are. `None` if they are not exactly `rows` rows.
    pub fn shared(dtype: DType, rows: usize, cols: usize, weight: WeightBytes) -> Option<Array> {
        let row_bytes = dtype.row_bytes(cols)?;
        let fits = row_bytes.checked_mul(rows) == Some(weight.len)
            && weight.offset.checked_add(weight.len)? <= (*weight.data).as_ref().len();
        let data = Data::Shared { bytes: weight.data, offset: weight.offset, len: weight.len };
        fits.then_some(Array { dtype, rows, cols, row_bytes, group: 0, heads: 1, data })
    }

    /// A copy of encoded bytes. `None` if their length is not a whole number of rows.
    pub fn from_bytes(dtype: DType, cols: usize, bytes: &[u8]) -> Option<Array> {
        let row_bytes = dtype.row_bytes(cols).filter(|b| *b > 0 && bytes.len().is_multiple_of(*b))?;
        let mut array = Array::zeros(dtype, bytes.len() / row_bytes, cols).ok()?;
        array.bytes_mut().copy_from_slice(bytes);
        Some(array)
    }

    /// A value of type `ty` in memory that an engine keeps: as many of the first words as it needs in a step of these
    /// sizes. `None` if the words are too few.
    pub fn from_memory(ty: &Type, sizes: &Sizes, words: Arc<Vec<u32>>) -> Option<Array> {
        let Type { dtype, cols, .. } = *ty;
        let (rows, group, heads) = (ty.rows.at(sizes), ty.rows.group(), ty.rows.heads());
        let row_bytes = dtype.row_bytes(cols)?;
        let fits = row_bytes.checked_mul(rows)? <= 4 * words.len();
        fits.then_some(Array { dtype, rows, cols, row_bytes, group, heads, data: Data::Owned(words) })
    }

    /// The memory of a matrix that came from [`Array::from_memory`].
    pub fn into_memory(self) -> Arc<Vec<u32>> {
        match self.data {
            Data::Owned(words) => words,
            Data::Shared { .. } => {
                let mut copy = self;
                copy.bytes_mut();
                copy.into_memory()
            }
        }
    }

    /// Encoding of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Values in a row.
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }
    /// The layer group of a cache, whose page tables lead to its places; 0 for other values.
    pub fn group(&self) -> usize {
        self.group
    }
    /// The layout of a cache; a value of another type has one head.
    pub fn cache(&self) -> Cache {
        Cache { heads: self.heads, slots: self.rows / self.heads }
    }
    /// Whether it has the dtype, the columns, the layer group and the heads of `ty`.
    pub fn is_of(&self, ty: &Type) -> bool {
        let Array { dtype, cols, group, heads, .. } = *self;
        (dtype, cols, group, heads) == (ty.dtype, ty.cols, ty.rows.group(), ty.rows.heads())
    }

    /// The encoded bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Owned(words) => &cast_slice(words.as_slice())[..self.rows * self.row_bytes],
            Data::Shared { bytes, offset, len } => &(**bytes).as_ref()[*offset..offset + len],
        }
    }

    /// The encoded bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if let Data::Shared { .. } = self.data {
            let bytes = self.bytes();
            let mut words = zeros::<u32>(bytes.len().div_ceil(4));
            cast_slice_mut::<u32, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
            self.data = Data::Owned(Arc::new(words));
        }
        let len = self.rows * self.row_bytes;
        match &mut self.data {
            Data::Owned(words) => &mut cast_slice_mut(Arc::make_mut(words).as_mut_slice())[..len],
            Data::Shared { .. } => unreachable!("made owned above"),
        }
    }

    /// All elements of a matrix of 4-byte words.
    ///
    /// # Panics
    /// If the dtype is of another size, or the bytes are shared and not aligned.
    pub fn all<T: Pod>(&self) -> &[T] {
        assert_eq!(self.dtype.block_bytes(), size_of::<u32>(), "{} is no word", self.dtype);
        cast_slice(self.bytes())
    }

    /// All elements of a matrix of 4-byte words, to be changed. Panics as [`Array::all`] does.
    pub fn all_mut<T: Pod>(&mut self) -> &mut [T] {
        assert_eq!(self.dtype.block_bytes(), size_of::<u32>(), "{} is no word", self.dtype);
        cast_slice_mut(self.bytes_mut())
    }

    /// A row of f32. Panics as [`Array::all`] does.
    pub fn row(&self, r: usize) -> &[f32] {
        &self.all()[r * self.cols..][..self.cols]
    }

    /// The encoded bytes of a row.
    pub fn row_bytes_of(&self, r: usize) -> &[u8] {
        &self.bytes()[r * self.row_bytes..][..self.row_bytes]
    }

    /// Decodes a row of any dtype that can be computed with.
    ///
    /// # Panics
    /// If the dtype has no decoder (types are checked when a model is traced) or `out` does not have the length of a
    /// row.
    pub fn decode_row(&self, r: usize, out: &mut [f32]) {
        let decode = self.dtype.info().decode.expect("checked when the value was typed");
        decode(self.row_bytes_of(r), out);
    }

    /// Encodes a row.
    ///
    /// # Panics
    /// If the dtype has no encoder (types are checked when a model is traced) or `values` does not have the length of a
    /// row.
    pub fn encode_row(&mut self, r: usize, values: &[f32]) {
        let encode = self.dtype.info().encode.expect("checked when the value was typed");
        let row_bytes = self.row_bytes;
        encode(values, &mut self.bytes_mut()[r * row_bytes..][..row_bytes]);
    }
}

impl PartialEq for Array {
    /// Bit for bit.
    fn eq(&self, other: &Array) -> bool {
        (self.dtype, self.rows, self.cols) == (other.dtype, other.rows, other.cols) && self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}[{}, {}]", self.dtype, self.rows, self.cols)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_with_one_owner_is_updated_in_place() {
        let mut a = Array::zeros(DType::F32, 2, 3).unwrap();
        let at = a.bytes().as_ptr();
        a.all_mut::<f32>()[4] = 1.0;
        assert_eq!((a.bytes().as_ptr(), a.row(1)), (at, &[0.0, 1.0, 0.0][..]));
        let b = a.clone();
        a.all_mut::<f32>()[4] = 2.0;
        assert_eq!((a.row(1)[1], b.row(1)[1]), (2.0, 1.0));
    }

    #[test]
    fn sizes_that_cannot_be_had_are_errors() {
        assert_eq!(Array::zeros(DType::F32, usize::MAX, 2).unwrap_err().bytes, u64::MAX);
        assert!(Array::zeros(DType::F32, 1 << 60, 1).is_err());
        assert!(Array::zeros(DType::Q8_0, 1, 33).is_err());
    }

    #[test]
    fn shared_bytes_must_be_whole_rows() {
        let data: SharedBytes = Arc::new(vec![0u8; 100]);
        let weight = |offset, len| WeightBytes { data: data.clone(), offset, len };
        assert!(Array::shared(DType::Q8_0, 2, 32, weight(4, 68)).is_some());
        assert!(Array::shared(DType::Q8_0, 2, 32, weight(4, 67)).is_none());
        assert!(Array::shared(DType::Q8_0, 2, 32, weight(40, 68)).is_none());
    }
}
