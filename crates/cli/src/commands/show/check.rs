//! `show --check`: decodes all tensors and finds NaN and infinite values.

use crate::terminal::Bar;
use inkstone::Cancel;
use inkstone::gguf::{Error, Gguf, TensorInfo};
use inkstone::tensor::{Decode, Progress};

/// The number of values that are decoded at once, unless a block is larger.
const CHUNK: usize = 1 << 16;

/// The result of the check.
pub(super) struct Check<'g> {
    /// Tensors with NaN or infinite values, or that can't be read.
    pub(super) faults: Vec<Fault<'g>>,
    /// Tensors that can't be decoded: there is no definition of their type, or they have no values.
    pub(super) unchecked: Vec<&'g str>,
}

/// A faulty tensor.
pub(super) struct Fault<'g> {
    pub(super) tensor: &'g str,
    pub(super) kind: FaultKind,
}

/// The kind of a fault.
pub(super) enum FaultKind {
    /// Values that are NaN or infinite.
    Values {
        /// The number of NaN values.
        nan: u64,
        /// The number of infinite values.
        infinite: u64,
        /// Index of the first such value.
        first: u64,
    },
    /// The bytes of the tensor can't be read.
    Unreadable(Error),
}

/// Decodes every tensor, with a progress bar on the terminal.
pub(super) fn check(gguf: &Gguf) -> Check<'_> {
    let bar = Bar::new("checking", Cancel::new());
    let total = gguf.tensors().iter().filter_map(|t| t.bytes).fold(0u64, u64::saturating_add);
    let mut done = 0u64;
    let mut check = Check { faults: Vec::new(), unchecked: Vec::new() };
    for tensor in gguf.tensors() {
        match decode(tensor).filter(|_| tensor.values() > 0) {
            Some((decode, block, block_bytes)) => {
                let kind = match gguf.tensor_data(&tensor.name) {
                    Ok(data) => scan(data.as_slice(), decode, block, block_bytes),
                    Err(e) => Some(FaultKind::Unreadable(e)),
                };
                check.faults.extend(kind.map(|kind| Fault { tensor: &tensor.name, kind }));
            }
            None => check.unchecked.push(&tensor.name),
        }
        done = done.saturating_add(tensor.bytes.unwrap_or(0));
        bar.update(done, total);
    }
    check
}

/// The decoder of the tensor, with the values and bytes per block.
fn decode(tensor: &TensorInfo) -> Option<(Decode, usize, usize)> {
    let info = tensor.dtype.known()?.info();
    Some((info.decode?, info.block, info.block_bytes))
}

fn scan(bytes: &[u8], decode: Decode, block: usize, block_bytes: usize) -> Option<FaultKind> {
    let blocks = (CHUNK / block).max(1);
    let mut values = vec![0f32; blocks * block];
    let (mut nan, mut infinite, mut first) = (0, 0, None);
    for (chunk, bytes) in (0u64..).zip(bytes.chunks(blocks * block_bytes)) {
        let values = &mut values[..bytes.len() / block_bytes * block];
        decode(bytes, values);
        if values.iter().all(|v| v.is_finite()) {
            continue;
        }
        nan += values.iter().filter(|v| v.is_nan()).count() as u64;
        infinite += values.iter().filter(|v| v.is_infinite()).count() as u64;
        let at = values.iter().position(|v| !v.is_finite()).unwrap_or(0) as u64;
        first = first.or(Some(chunk * (blocks * block) as u64 + at));
    }
    first.map(|first| FaultKind::Values { nan, infinite, first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone::tensor::DType;

    #[test]
    fn faults_are_counted_over_chunks_and_the_first_is_named() {
        let mut values = vec![1.0f32; CHUNK * 2 + 10];
        let info = DType::F32.info();
        let scan = |values: &[f32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            scan(&bytes, info.decode.unwrap(), info.block, info.block_bytes)
        };
        assert!(scan(&values).is_none());
        values[CHUNK + 7] = f32::NAN;
        values[CHUNK * 2 + 9] = f32::NEG_INFINITY;
        let Some(FaultKind::Values { nan, infinite, first }) = scan(&values) else { panic!("nothing found") };
        assert_eq!((nan, infinite, first), (1, 1, CHUNK as u64 + 7));
    }
}
