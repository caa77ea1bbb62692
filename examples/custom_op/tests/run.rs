//! The program runs to its end, and says something.

use std::process::Command;

#[test]
fn it_runs() {
    let output = Command::new(env!("CARGO_BIN_EXE_custom_op")).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
}
