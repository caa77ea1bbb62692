//! Any text, parsed as a chat template.
#![no_main]

#[path = "../checks/template.rs"]
#[allow(dead_code)]
mod template;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    template::check_parse(bytes);
});
