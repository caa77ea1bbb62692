//! Builds files byte by byte, also files that the writer refuses to write.
#![allow(dead_code)] // every test binary uses its part

use inkstone_gguf::{Error, Gguf};
use std::sync::Arc;

/// Ids of types of values.
pub const U32: u32 = 4;
pub const BOOL: u32 = 7;
pub const STRING: u32 = 8;
pub const ARRAY: u32 = 9;
pub const U64: u32 = 10;

/// Ids of types of tensors.
pub const F32: u32 = 0;
pub const Q4_2: u32 = 4;
pub const Q8_0: u32 = 8;
pub const Q4_K: u32 = 12;
pub const I8: u32 = 24;
pub const I16: u32 = 25;

/// A file that is being put together.
#[derive(Clone)]
pub struct Raw(pub Vec<u8>);

impl Raw {
    /// The header: version 3 and the two counts.
    pub fn new(tensors: u64, keys: u64) -> Raw {
        Raw(b"GGUF".to_vec()).u32(3).u64(tensors).u64(keys)
    }

    pub fn bytes(mut self, bytes: &[u8]) -> Raw {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn u32(self, v: u32) -> Raw {
        self.bytes(&v.to_le_bytes())
    }

    pub fn u64(self, v: u64) -> Raw {
        self.bytes(&v.to_le_bytes())
    }

    pub fn string(self, text: impl AsRef<[u8]>) -> Raw {
        self.u64(text.as_ref().len() as u64).bytes(text.as_ref())
    }

    /// A key and the type of its value; the value follows.
    pub fn key(self, key: &str, value_type: u32) -> Raw {
        self.string(key).u32(value_type)
    }

    /// An entry of the tensor infos.
    pub fn tensor(self, name: &str, dims: &[u64], dtype: u32, offset: u64) -> Raw {
        let head = self.string(name).u32(dims.len() as u32);
        dims.iter().fold(head, |raw, &d| raw.u64(d)).u32(dtype).u64(offset)
    }

    /// Padding to 32 bytes, then as many zeros.
    pub fn data(mut self, bytes: usize) -> Raw {
        self.0.resize(self.0.len().next_multiple_of(32) + bytes, 0);
        self
    }

    pub fn open(self) -> Result<Gguf, Error> {
        Gguf::from_bytes(Arc::new(self.0), "test.gguf")
    }

    /// The message with which the file is refused: one line.
    #[track_caller]
    pub fn refused(self) -> String {
        let message = self.open().expect_err("the file is bad").to_string();
        assert!(message.starts_with("test.gguf: ") && !message.contains('\n'), "{message}");
        message
    }
}
