//! The story model, as part of the program.

use crate::Result;
use inkstone_gguf::Gguf;
use std::sync::Arc;

/// Bytes at an address that any vector load likes: tensors are read where they lie.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static STORY: &Aligned<[u8]> = &Aligned(*include_bytes!("../assets/story-5m-q8_0.gguf"));

/// The file of the story model that is in the program.
///
/// # Errors
/// None that is known: the file is read as any other.
pub fn story() -> Result<Gguf> {
    Ok(Gguf::from_bytes(Arc::new(&STORY.0), "the embedded model")?)
}
