//! Any bytes at all, read as a GGUF file.
#![no_main]

#[path = "../checks/gguf_reader.rs"]
mod gguf_reader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    gguf_reader::check(bytes);
});
