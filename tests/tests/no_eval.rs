//! Which build `cargo xtask test no-eval` makes: one whose definitions panic.
#![cfg(inkstone_no_eval)]

use inkstone_tests::on_engine;
use inkstone_tests::tiny::{BOS, Tiny};

fn only_the_definitions_panic(engine: &str) {
    let logits = |engine: &str| Tiny::random().open_on(engine)?.logits(&[BOS], None);
    assert!(logits(engine).is_ok());
    let error = logits("reference").unwrap_err().to_string();
    assert!(error.contains("panicked: eval of begin_step"), "{error}");
}

on_engine! {
    cpu: only_the_definitions_panic
}
