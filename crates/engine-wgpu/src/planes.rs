//! stub
use inkstone_tensor::DType;
pub(crate) const PANEL: usize = 32;
pub(crate) struct Planes {
    pub(crate) panel_words: usize,
}
pub(crate) fn planes(dtype: DType, cols: usize) -> Option<Planes> {
    (dtype == DType::F32).then_some(Planes { panel_words: cols.next_multiple_of(4) * 32 })
}
pub(crate) fn pack(_dtype: DType, rows: &[u8], row: usize, to: &mut [u32]) {
    for (r, bytes) in rows.chunks(row).enumerate() {
        for (i, b) in bytes.chunks_exact(4).enumerate() {
            to[i * 32 + r] = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
    }
}
