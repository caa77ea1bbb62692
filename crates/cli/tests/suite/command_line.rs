//! What is said and how it is refused.

use crate::common::{self, program, run, story};
use std::path::Path;

/// The help of the program and of each command. `UPDATE_HELP=1` writes it anew.
#[test]
fn help_is_as_it_was() {
    let mut all = String::new();
    for command in ["", "run", "chat", "template", "show", "explain", "bench", "tokenize", "logits", "completions"] {
        let mut arguments = vec![command, "-h"];
        arguments.retain(|a| !a.is_empty());
        all += &format!("$ inkstone {}\n{}\n", arguments.join(" "), run(&arguments).succeeded().text());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help.txt");
    if std::env::var_os("UPDATE_HELP").is_some() {
        std::fs::write(&path, &all).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), all, "UPDATE_HELP=1 writes tests/help.txt anew");
}

#[test]
fn version_goes_to_standard_output() {
    assert!(run(&["--version"]).succeeded().text().starts_with("inkstone 0."));
}

#[test]
fn without_a_command_help_goes_to_standard_error() {
    let nothing = run::<&str>(&[]);
    assert_eq!((nothing.code, nothing.text()), (Some(2), ""));
    assert!(nothing.stderr.contains("Usage: inkstone"));
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).succeeded();
        assert!(script.text().contains("typical-p"), "{shell}");
    }
    run(&["completions", "csh"]).refused(2, "\"csh\": allowed: bash, ");
}

#[test]
fn e01_values_outside_their_range_end_with_2_and_the_range() {
    run(&["run", "--top-p", "2", "Hi"]).refused(2, "--top-p \"2\": allowed: above 0 to 1");
    run(&["run", "--temperature", "NaN", "Hi"]).refused(2, "--temperature \"NaN\": allowed: 0 or above");
    run(&["run", "-n", "1000000000000", "Hi"]).refused(2, "allowed: a whole number from 1 to 2147483647, or -1");
    run(&["run", "-t", "0", "Hi"]).refused(2, "--threads \"0\": allowed: a whole number from 1 to 1024");
}

#[test]
fn e02_numbers_that_are_not_written_plainly_end_with_2() {
    for value in ["1e3", " 5", "5.0", "-7", "2147483648"] {
        run(&["run", "--ctx", value, "Hi"]).refused(2, &format!("--ctx {value:?}: allowed: "));
    }
}

#[test]
fn e05_an_empty_or_long_stop_text_is_refused() {
    run(&["run", "--stop", "", "Hi"]).refused(2, "--stop \"\": allowed: 1 to 256 bytes");
    run(&["run", "--stop", &"x".repeat(257), "Hi"]).refused(2, "allowed: 1 to 256 bytes");
    let many: Vec<_> = ["run", "Hi"].into_iter().chain(["--stop", "x"].repeat(17)).collect();
    run(&many).refused(2, "--stop is given 17 times, allowed: at most 16");
}

#[test]
fn e06_what_is_misspelt_gets_a_suggestion() {
    run(&["run", "--temprature", "1", "Hi"]).refused(2, "unknown option --temprature; did you mean --temperature?");
    run(&["tokenise", "x"]).refused(2, "unknown command \"tokenise\"; did you mean tokenize?");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("story.gguf"), "").unwrap();
    let mut command = program();
    let refused: common::Ran = command.current_dir(&folder).args(["run", "storry.gguf"]).output().unwrap().into();
    refused.refused(1, "storry.gguf: no such file; did you mean story.gguf?");
    run(&["run", "no/such/model"]).refused(
        1,
        "no/such/model: no such file; a model is what ends in .gguf, has a path separator and no space, or is the first of two arguments",
    );
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    let story = story();
    let story = story.to_str().unwrap();
    run(&["run", "-m", story, "a", "b"]).refused(2, "one argument too many: \"b\"");
    run(&["run", "-p", "x", "-f", "y"]).refused(2, "--prompt <PROMPT> does not go with --file <FILE>");
}
