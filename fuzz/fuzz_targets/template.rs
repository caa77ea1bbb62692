//! Any text as a chat template, which is rendered with any conversation.
#![no_main]

#[path = "../checks/template.rs"]
#[allow(dead_code)]
mod template;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    template::check(bytes);
});
