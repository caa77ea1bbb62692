//! Options from variables of the environment.

use crate::common::{Ran, fed, program};

fn with(variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = program();
    command.envs(variables.iter().copied()).args(arguments).output().expect("the program starts").into()
}

fn generated(ran: Ran) -> usize {
    let ran = ran.succeeded();
    let last = ran.text().lines().last().unwrap();
    let end: serde_json::Value = serde_json::from_str(last).unwrap();
    end["usage"]["completion_tokens"].as_u64().unwrap() as usize
}

#[test]
fn a_variable_sets_its_option_and_the_option_wins() {
    let request = ["complete", "-p", "Once upon a time", "--json"];
    let limit = [("INKSTONE_MAX_TOKENS", "3"), ("INKSTONE_TEMPERATURE", "0"), ("INKSTONE_CTX", "")];
    assert_eq!(generated(with(&limit, &request)), 3);
    assert_eq!(generated(with(&limit, &[&request[..], &["-n", "5"]].concat())), 5);
    let end = [("INKSTONE_IGNORE_EOS", "yes"), ("INKSTONE_MAX_TOKENS", "200"), ("INKSTONE_TEMPERATURE", "0")];
    let chat = ["chat", "Hello", "--json"];
    assert_eq!(generated(with(&end, &chat)), 200);
    assert!(generated(with(&end, &[&chat[..], &["--ignore-eos=false"]].concat())) < 200);
    let banned = [("INKSTONE_BAN", "1,2,4000000")];
    with(&banned, &request).refused(2, "4000000");
}

#[test]
fn a_value_that_is_not_allowed_ends_with_2_and_names_the_variable() {
    let cases = [
        ("INKSTONE_TEMPERATURE", "x", "INKSTONE_TEMPERATURE \"x\": allowed: 0 or above"),
        ("INKSTONE_KV_TYPE", "f8", "INKSTONE_KV_TYPE \"f8\": allowed: f16, f32"),
        ("INKSTONE_THREADS", "many", "INKSTONE_THREADS \"many\": allowed: a whole number"),
        ("INKSTONE_MMAP", "maybe", "INKSTONE_MMAP \"maybe\": allowed: 1, true, yes, on"),
        ("INKSTONE_LOGIT_BIAS", "5+1,5", "INKSTONE_LOGIT_BIAS \"5\": allowed: the id of a token"),
    ];
    for (name, value, wanted) in cases {
        with(&[(name, value)], &["complete", "Once"]).refused(2, wanted);
    }
    // What is typed is at fault first; an option that is given hides its variable; other commands have none.
    let bad = [("INKSTONE_TEMPERATURE", "x")];
    with(&bad, &["complete", "--top-k", "x"]).refused(2, "--top-k \"x\": allowed");
    with(&bad, &["complete", "Once", "-n", "1", "--temp", "0"]).succeeded();
    with(&bad, &["completions", "bash"]).succeeded();
    with(&bad, &["run", "--help"]).succeeded();
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let mut command = program();
    command.env("INKSTONE_SEED", std::ffi::OsStr::from_bytes(b"\xff")).args(["complete", "Once"]);
    Ran::from(command.output().unwrap()).refused(2, "INKSTONE_SEED \"\\xFF\": allowed: UTF-8");
}

/// `/set` changes one option; the others stay as they were given, whatever the environment says.
#[test]
fn a_conversation_reads_the_environment_once() {
    let mut command = program();
    command.args(["chat", "--temp", "0", "--json", "--ignore-eos"]).env("INKSTONE_MAX_TOKENS", "3");
    command.env("INKSTONE_TEMPERATURE", "2");
    let ran = fed(command, b"Hello\n/set top-k 3\nHello\n/set max-tokens 4\n/set top-p 1\nHello\n").succeeded();
    let ends: Vec<serde_json::Value> = ran.text().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let ends: Vec<_> = ends.iter().filter_map(|o| o["usage"]["completion_tokens"].as_u64()).collect();
    assert_eq!(ends, [3, 3, 4]);
}
