//! What `cargo xtask test no-eval` relies on: definitions that are forbidden panic, and the CPU engine has none.

use inkstone::tensor::forbid_eval;
use inkstone_tests::tiny::{BOS, Tiny};

#[test]
fn only_the_definitions_panic() {
    let logits = |engine: &str| Tiny::random().open_on(engine)?.logits(&[BOS], None);
    assert!(logits("reference").is_ok());
    forbid_eval();
    assert!(logits("cpu").is_ok());
    let error = logits("reference").unwrap_err().to_string();
    assert!(error.contains("panicked: eval of begin_step"), "{error}");
}
