//! The layout of the tensors: computes sizes in checked arithmetic and checks that tensors are inside the file and do
//! not overlap.

use crate::name_index::NameIndex;
use crate::parse::RawTensor;
use crate::tensor::{TensorInfo, TensorType};
use crate::{Error, Limits, Metadata};

/// The key of the alignment, and the alignment of a file without the key.
pub(crate) const ALIGNMENT_KEY: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u64 = 32;
const LEAST_ALIGNMENT: u64 = 8;

/// The alignment that the metadata declare.
pub(crate) fn alignment(metadata: &Metadata, file: &str, limits: &Limits) -> Result<u64, Error> {
    let Some(value) = metadata.get(ALIGNMENT_KEY) else { return Ok(DEFAULT_ALIGNMENT) };
    let wrong = |found: String| Error::Alignment { file: file.to_string(), found, max: limits.alignment };
    let number = value.integer().ok_or_else(|| wrong(value.describe_type()))?;
    match u64::try_from(number) {
        Ok(n) if n.is_power_of_two() && (LEAST_ALIGNMENT..=limits.alignment).contains(&n) => Ok(n),
        _ => Err(wrong(number.to_string())),
    }
}

/// Bytes of a tensor without the padding after it, or `None` if the type is unknown. Also checks for every type that
/// the number of values, and the number of bytes rounded up to the alignment, fit in 64 bits.
pub(crate) fn bytes(
    file: &str,
    tensor: &str,
    dtype: TensorType,
    dims: &[u64],
    alignment: u64,
) -> Result<Option<u64>, Error> {
    let overflow =
        |what| Error::Overflow { file: file.to_string(), tensor: tensor.to_string(), what, dims: dims.to_vec() };
    // A dimension of 0 must not hide an overflow of the other dimensions.
    let product = |dims: &[u64]| dims.iter().try_fold(1u64, |n, &d| n.checked_mul(d.max(1)));
    product(dims).ok_or_else(|| overflow("the number of values"))?;
    let Some(dtype) = dtype.known() else { return Ok(None) };
    let (cols, rows) = dims.split_first().map_or((1, &[][..]), |(&cols, rows)| (cols, rows));
    let (block, block_bytes) = (dtype.block() as u64, dtype.block_bytes() as u64);
    if cols % block != 0 {
        return Err(Error::RowNotBlocks {
            file: file.to_string(),
            tensor: tensor.to_string(),
            dtype: dtype.name(),
            cols,
            block,
        });
    }
    let row_bytes = (cols / block).checked_mul(block_bytes).ok_or_else(|| overflow("the number of bytes"))?;
    let bytes = rows.iter().try_fold(row_bytes, |n, &d| n.checked_mul(d.max(1)));
    let bytes = bytes.ok_or_else(|| overflow("the number of bytes"))?;
    bytes.checked_next_multiple_of(alignment).ok_or_else(|| overflow("the number of bytes rounded up"))?;
    Ok(Some(if dims.contains(&0) { 0 } else { bytes }))
}

/// The tensors of a file, checked, with an index of their names.
pub(crate) struct Layout {
    pub(crate) tensors: Vec<TensorInfo>,
    pub(crate) names: NameIndex,
    /// The offset of the tensor data in the file.
    pub(crate) data_start: u64,
    /// The offset of the first byte after all tensors.
    pub(crate) data_end: u64,
}

/// Checks names, sizes and offsets.
pub(crate) fn check(
    raw: Vec<RawTensor>,
    head_end: u64,
    alignment: u64,
    size: u64,
    file: &str,
) -> Result<Layout, Error> {
    let names = unique_names(&raw, file)?;
    // The head ends inside the file, so this is far below 2^64 unless the file is of that size.
    let data_start = head_end.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    let mut tensors = Vec::new();
    reserve(&mut tensors, raw.len(), file)?;
    for t in raw {
        let bytes = bytes(file, &t.name, t.dtype, &t.dims, alignment)?;
        if t.offset % alignment != 0 {
            return Err(Error::Misaligned { file: file.to_string(), tensor: t.name, offset: t.offset, alignment });
        }
        let start = u128::from(data_start) + u128::from(t.offset);
        let end = start + u128::from(bytes.unwrap_or(u64::from(!t.dims.contains(&0))));
        if end > u128::from(size) && !(bytes == Some(0) && t.offset == 0) {
            let what = match bytes {
                Some(bytes) => format!("tensor {:?} of {bytes} bytes at offset {}", t.name, t.offset),
                None => format!("tensor {:?} at offset {}", t.name, t.offset),
            };
            return Err(Error::Truncated { file: file.to_string(), what, at: start, needed: end, size });
        }
        tensors.push(TensorInfo { name: t.name, dtype: t.dtype, dims: t.dims, offset: t.offset, bytes });
    }
    let data_end = no_overlap(&tensors, head_end, data_start, size, file)?;
    Ok(Layout { tensors, names, data_start, data_end })
}

fn reserve<T>(list: &mut Vec<T>, items: usize, file: &str) -> Result<(), Error> {
    list.try_reserve_exact(items).map_err(|_| Error::OutOfMemory {
        file: file.to_string(),
        what: "the list of tensors".to_string(),
        bytes: items as u128 * size_of::<T>() as u128,
    })
}

fn unique_names(raw: &[RawTensor], file: &str) -> Result<NameIndex, Error> {
    let mut names = NameIndex::default();
    let name_at = |i: u32| raw[i as usize].name.as_str();
    for (i, t) in raw.iter().enumerate() {
        if let Some(first) = names.find(&t.name, name_at) {
            return Err(Error::Duplicate {
                file: file.to_string(),
                kind: "tensor",
                name: t.name.clone(),
                first: raw[first as usize].at,
                second: t.at,
            });
        }
        if names.reserve(name_at).is_err() {
            let bytes = raw.len() as u128 * 8;
            return Err(Error::OutOfMemory { file: file.to_string(), what: "the names of tensors".to_string(), bytes });
        }
        names.insert(&t.name, i as u32);
    }
    Ok(names)
}

/// Visits the tensors by offset: each must begin at or after the end of the one before. A tensor of an unknown type
/// takes at least one byte if it has values. Returns the end of the last tensor in the file; if its type is unknown, it
/// extends to the end of the file.
fn no_overlap(tensors: &[TensorInfo], head_end: u64, data_start: u64, size: u64, file: &str) -> Result<u64, Error> {
    let extent = |t: &TensorInfo| t.bytes.unwrap_or(u64::from(t.values() > 0));
    let mut order: Vec<u32> = Vec::new();
    reserve(&mut order, tensors.len(), file)?;
    order.extend(0..tensors.len() as u32);
    order.sort_unstable_by_key(|&i| {
        let t = &tensors[i as usize];
        (t.offset, extent(t), i)
    });
    let mut end = 0;
    let mut before: Option<&TensorInfo> = None;
    for t in order.iter().map(|&i| &tensors[i as usize]) {
        if extent(t) == 0 {
            continue;
        }
        if let Some(before) = before.filter(|_| t.offset < end) {
            return Err(Error::Overlap {
                file: file.to_string(),
                first: before.name.clone(),
                second: t.name.clone(),
                end: data_start + end,
                start: data_start + t.offset,
            });
        }
        end = t.offset + extent(t);
        before = Some(t);
    }
    Ok(match before {
        None => head_end,
        Some(TensorInfo { bytes: None, .. }) => size,
        Some(_) => data_start + end,
    })
}
