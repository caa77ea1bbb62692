//! Writes to caches, copies of their pages, and the texts by which kernels read them.

use super::{blocks, groups, one};
use crate::call::{Call, Dispatch, Operand, word};
use crate::shader::Shader;
use inkstone_tensor::cache::Cache;
use inkstone_tensor::step::COPIES;
use inkstone_tensor::{DType, Dim, Sizes, Type};

/// The formats of caches: the dtype, the values that a thread encodes, and the names of the texts that encode and read them.
pub(super) static FORMATS: &[(DType, usize, &str, &str)] = &[
    (DType::F32, 1, "caches/f32_encode", "caches/f32"),
    (DType::F16, 1, "caches/f16_encode", "caches/f16"),
    (DType::BF16, 1, "caches/bf16_encode", "caches/bf16"),
    (DType::Q8_0, 32, "caches/q8_0_encode", "caches/q8_0"),
];

/// The row of the table for a cache.
fn format(dtype: DType) -> Result<&'static (DType, usize, &'static str, &'static str), String> {
    let known = || FORMATS.iter().map(|(dtype, ..)| dtype.name()).collect::<Vec<_>>().join(", ");
    FORMATS.iter().find(|(d, ..)| *d == dtype).ok_or_else(|| format!("a cache in {dtype}, allowed: {}", known()))
}

/// The functions by which a shader reads the state that is bound as `k`.
pub(super) fn reader(dtype: DType) -> Result<&'static str, String> {
    let (.., read) = format(dtype)?;
    Ok(inkstone_shaders::wgsl::text(read).unwrap_or_default())
}

/// The values that a thread encodes, and the functions by which a shader writes them to the state that is bound as `k`.
pub(super) fn writer(dtype: DType) -> Result<(usize, String), String> {
    let (_, unit, encode, _) = *format(dtype)?;
    let texts = [encode, "shared/put16"].into_iter().filter_map(inkstone_shaders::wgsl::text);
    Ok((unit, texts.collect()))
}

/// The rows of a place of a cache, and its places.
pub(super) fn lies(cache: &Type, bucket: &Sizes) -> Cache {
    Cache::of(cache, cache.rows.at(bucket))
}

pub(super) fn history_write(call: &Call) -> Result<Vec<Dispatch>, String> {
    let [history, rows] = [&call.ins[0], &call.ins[1]];
    let parameters = call.parameters(&[rows.at()?, word(lies(&history.ty, &call.bucket).slots)?]);
    let shader = Shader::named("history_write").file("places", "shared/places");
    let grid = [groups(call.rows().div_ceil(64) as usize)?, 1, 1];
    one(Dispatch::new(shader, parameters, grid).states(Some(history.state()?), None))
}

pub(super) fn kv_write(call: &Call) -> Result<Vec<Dispatch>, String> {
    let [cache, x, rows] = [&call.ins[0], &call.ins[1], &call.ins[2]];
    let Cache { heads, slots } = lies(&cache.ty, &call.bucket);
    let words = [x.at()?, rows.at()?, word(x.ty.cols)?, word(heads)?, word(cache.ty.cols)?, word(slots)?, group(cache)];
    let (unit, encode) = writer(cache.ty.dtype)?;
    let shader = Shader::named("kv_write").file("places", "shared/places").file("f16", "shared/f16");
    let grid = [blocks(x.ty.cols / unit, 64)?, groups(call.rows() as usize)?, 1];
    let shader = shader.slot("encode_0", encode);
    one(Dispatch::new(shader, call.parameters(&words), grid).states(Some(cache.state()?), None))
}

/// The layer group of a cache.
pub(super) fn group(cache: &Operand) -> u32 {
    if let Dim::Slots { group, .. } = cache.ty.rows { group as u32 } else { 0 }
}

pub(super) fn kv_copy(call: &Call) -> Result<Vec<Dispatch>, String> {
    let cache = &call.ins[0];
    let Cache { heads, slots } = lies(&cache.ty, &call.bucket);
    let bytes = cache.ty.row_bytes() as usize;
    let halves = !bytes.is_multiple_of(4);
    if halves && !bytes.is_multiple_of(2) {
        return Err(format!("rows of {bytes} bytes, allowed: multiples of 2"));
    }
    let units = if halves { bytes / 2 } else { bytes / 4 };
    let parameters = call.parameters(&[word(heads)?, word(units)?, word(slots)?, group(cache)]);
    let shader =
        Shader::named("kv_copy").file("places", "shared/places").constant("HALVES", f64::from(u8::from(halves)));
    one(Dispatch::new(shader, parameters, [16, COPIES as u32, 1]).states(Some(cache.state()?), None))
}
