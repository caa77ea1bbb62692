//! The story model, as part of the program.

use crate::Result;
use inkstone_gguf::Gguf;
use std::sync::Arc;

/// Bytes at an address that any vector load likes: tensors are read where they lie.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static STORY: &Aligned<[u8]> = &Aligned(*include_bytes!("../assets/story-5m-q8_0.gguf"));

pub(crate) fn story() -> Result<Gguf> {
    Ok(Gguf::from_bytes(Arc::new(&STORY.0), "the embedded model")?)
}
