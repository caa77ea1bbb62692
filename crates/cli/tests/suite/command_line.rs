//! What is said and how it is refused.

use crate::common::{self, program, run, story};
use std::path::Path;

/// The help of the program and of each command. `UPDATE_HELP=1` writes it anew.
#[test]
fn help_is_as_it_was() {
    let mut all = String::new();
    let commands = [
        "",
        "run",
        "complete",
        "chat",
        "batch",
        "template",
        "list",
        "show",
        "explain",
        "bench",
        "tokenize",
        "logits",
        "completions",
    ];
    for command in commands {
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
    run(&["run", "-n", "1000000000000", "Hi"]).refused(2, "allowed: a whole number from 0 to 2147483647, or -1");
    run(&["run", "-t", "-2", "Hi"]).refused(2, "--threads \"-2\": allowed: a whole number from 1 to 1024, or 0 or -1");
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
        "no/such/model: no such file; a model ends in .gguf, has a path separator and no space, or is the first of two arguments",
    );
}

#[test]
fn arguments_that_do_not_go_together_are_refused() {
    let story = story();
    let story = story.to_str().unwrap();
    run(&["run", "-m", story, "a", "b"]).refused(2, "one argument too many: \"b\"");
    run(&["run", "-p", "x", "-f", "y"]).refused(2, "--prompt <PROMPT> does not go with --file <FILE>");
}

#[test]
fn every_command_with_a_model_takes_it_as_an_option() {
    let story = story();
    let story = story.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let logits = folder.path().join("logits.npy");
    let messages = folder.path().join("messages.json");
    std::fs::write(&messages, r#"[{"role": "user", "content": "Hi"}]"#).unwrap();
    let lines: [&[&str]; 5] = [
        &["show"],
        &["explain", "--plan"],
        &["template", "--messages", messages.to_str().unwrap()],
        &["tokenize", "Once upon a time", "--ids"],
        &["logits", "--ids", "1,2", "--out", logits.to_str().unwrap()],
    ];
    for line in lines {
        let (command, rest) = line.split_first().unwrap();
        let first = run(&[&[*command, story], rest].concat()).succeeded();
        for option in ["-m", "--model"] {
            let ran = run(&[line, &[option, story]].concat()).succeeded();
            assert_eq!(ran.text(), first.text(), "{line:?}");
        }
    }
    for line in [&["show"][..], &["logits", "--ids", "1", "--out", "x"], &["bench", "-p", "0"]] {
        run(line).refused(2, "missing: MODEL; see --help");
    }
    run(&["show", story, "-m", story]).refused(2, "[MODEL] does not go with --model <MODEL>");
    let file = folder.path().join("text.txt");
    std::fs::write(&file, "Once upon a time\n").unwrap();
    let ids = |more: &[&str]| run(&[&["tokenize", "--ids"], more].concat()).succeeded().text().to_string();
    assert_eq!(ids(&["-p", "Once upon a time\n"]), ids(&[story, "-f", file.to_str().unwrap()]));
}

/// The arguments of other programs with one that runs.
#[test]
fn arguments_of_other_programs_are_understood() {
    let wanted = run(&["complete", "-n", "5", "--temp", "0", "-p", "Once"]).succeeded();
    let line = "complete -ngl 99 -fa on --predict 5 --temp 0 -ctk f16 --no-mmap -b 512 --prompt Once";
    let ran = run(&line.split(' ').collect::<Vec<_>>()).succeeded();
    assert_eq!(ran.stdout, wanted.stdout);
    let notes: Vec<_> = ran.stderr.lines().filter(|l| l.contains(" is not needed: ")).collect();
    assert_eq!(notes.len(), 4, "{}", ran.stderr);
    assert_eq!(
        notes[0],
        "note: -ngl is not needed: one engine computes the whole model; --engine and --device choose it"
    );
    run(&["run", "-hf", "a/b"]).refused(2, "-hf is not supported: inkstone downloads nothing");
    run(&["-hf", "a/b"]).refused(2, "-hf is not supported: ");
    run(&["chat", "-j", "{}"]).refused(2, "-j is not supported yet: grammars");
    run(&["pull", "llama3.2"]).refused(2, "pull is not a command of inkstone: ");
    assert_eq!(run(&["complete", "-n", "0", "-p", "-hf"]).succeeded().text(), "");
}
