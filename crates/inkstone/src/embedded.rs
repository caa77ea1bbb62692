//! The built-in story model.

use crate::Result;
use inkstone_gguf::Gguf;
use std::sync::Arc;

/// Bytes aligned for vector loads, because tensors are read in place.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static STORY: &Aligned<[u8]> = &Aligned(*include_bytes!("../assets/story-5m-q8_0.gguf"));

/// The file of the story model that is included in the program.
///
/// # Errors
/// The errors of reading any file; none are known for this file.
pub fn story() -> Result<Gguf> {
    Ok(Gguf::from_bytes(Arc::new(&STORY.0), "the embedded model")?)
}
