//! Rows of any dtype as f32.

use crate::memory::View;

/// Columns of a row from `first` on, as many as `out` has, decoded. They begin and end at blocks.
pub(super) fn decode_row(view: &View, row: usize, first: usize, out: &mut [f32]) {
    let info = view.ty.dtype.info();
    let decode = info.decode.expect("operands that are no words can be decoded, as infer checks");
    let begin = first / info.block * info.block_bytes;
    let len = out.len() / info.block * info.block_bytes;
    decode(&view.row_bytes(row)[begin..begin + len], out);
}
