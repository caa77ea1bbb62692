//! Rows of any dtype and layout as f32.

use crate::lines::{self, LINES4};
use crate::memory::View;
use crate::panel::{PANEL16, ROWS, unpack};

/// Bytes of the largest block.
const LARGEST: usize = 256;

/// Columns of a row from `first` on, as many as `out` has, decoded. They begin and end at blocks.
pub(super) fn decode_row(view: &View, row: usize, first: usize, out: &mut [f32]) {
    let info = view.ty.dtype.info();
    let decode = info.decode.expect("operands other than words can be decoded, as infer checks");
    let begin = first / info.block * info.block_bytes;
    if view.layout == PANEL16 {
        let panel = &view.groups(ROWS, row / ROWS, 1)[ROWS * begin..];
        let mut block = [0; LARGEST];
        let block = &mut block[..info.block_bytes];
        let columns = panel.chunks_exact(ROWS * info.block_bytes);
        for (out, column) in out.chunks_exact_mut(info.block).zip(columns) {
            unpack(info.dtype, column, row % ROWS, block);
            decode(block, out);
        }
        return;
    }
    if view.layout == LINES4 {
        let (group, mut out) = (view.groups(lines::ROWS, row / lines::ROWS, 1), out);
        let (mut at, row_bytes) = (begin, view.stride());
        while !out.is_empty() {
            let line = &group[lines::place(row_bytes, row % lines::ROWS, at)];
            let count = (line.len() / info.block_bytes).min(out.len());
            let (now, later) = out.split_at_mut(count);
            let line = &line[..count * info.block_bytes];
            decode(line, now);
            (out, at) = (later, at + line.len());
        }
        return;
    }
    let len = out.len() / info.block * info.block_bytes;
    decode(&view.row_bytes(row)[begin..begin + len], out);
}
