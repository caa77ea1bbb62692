//! Raw text that goes on.

use super::{Folder, complete, counts, ids, restored, text};
use crate::common::{program, run};
use inkstone::{Model, ModelOptions};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn runs_with_a_session_are_one_text_and_compute_what_is_new() {
    let folder = Folder::new();
    let file = folder.path("a.session");
    let file = text(&file);
    let whole = complete("Once upon a time", &["-n", "40"]).succeeded();
    let mut found = Vec::new();
    for (part, prompt) in ["Once upon a time", "", "", ""].iter().enumerate() {
        let ran = complete(prompt, &["-n", "10", "--session", file]).succeeded();
        found.extend(ids(&ran));
        let before = 5 + 10 * part as u64;
        let cached = if part == 0 { 0 } else { before - 1 };
        assert_eq!((counts(&ran, "prompt_tokens"), counts(&ran, "cached_tokens")), (vec![before], vec![cached]));
    }
    assert_eq!(found, ids(&whole));
    // A prompt is added.
    let ran = complete(" The end came soon:", &["-n", "3", "--session", file]).succeeded();
    assert_eq!(counts(&ran, "cached_tokens"), [45 - 1], "only the last token of the text, and the prompt");
    let (session, extra) = restored(&folder.path("a.session"));
    let tokenizer = Model::embedded(&ModelOptions::default()).unwrap().tokenizer().clone();
    let wanted = [&found[..], &tokenizer.encode(" The end came soon:", &plain()).unwrap(), &ids(&ran)].concat();
    assert_eq!((&session.ids()[5..], &extra[..]), (&wanted[..], &b""[..]));
    assert_eq!(folder.contents().len(), 1);
}

/// How a text in the middle is encoded.
fn plain() -> inkstone::text::Encode {
    inkstone::text::Encode::new().bos(false).eos(false).start(false)
}

#[test]
fn run_continues_raw_text_like_complete() {
    let folder = Folder::new();
    let [a, b] = ["a", "b"].map(|name| folder.path(name));
    for prompt in ["Once upon a time", ""] {
        let line = ["-n", "5", "--temp", "0", "--json", "-p", prompt, "--session"];
        let wanted = run(&[&["complete"], &line[..], &[text(&a)]].concat()).succeeded();
        let found = run(&[&["run"], &line[..], &[text(&b)]].concat()).succeeded();
        assert_eq!((ids(&found), counts(&found, "cached_tokens")), (ids(&wanted), counts(&wanted, "cached_tokens")));
    }
    assert_eq!(folder.contents()[0].1, folder.contents()[1].1);
}

#[test]
fn a_limit_of_no_tokens_keeps_a_prompt_for_later() {
    let folder = Folder::new();
    let file = folder.path("a");
    complete("Once upon a time", &["-n", "0", "--session", text(&file)]).succeeded();
    let ran = complete(" there", &["-n", "3", "--session", text(&file)]).succeeded();
    assert_eq!((counts(&ran, "prompt_tokens"), counts(&ran, "cached_tokens")), (vec![6], vec![5]));
}

/// An end token and a stop text end the text, and are no part of it.
#[test]
fn the_text_is_kept_as_it_was_printed() {
    let folder = Folder::new();
    let model = Model::embedded(&ModelOptions::default()).unwrap();
    let whole = run(&["complete", "--temp", "0", "-p", "Once upon a time", "-n", "12"]).succeeded();
    let stops: Vec<String> = (1..14).map(|at| whole.text().chars().skip(at).take(4).collect()).collect();
    let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
    for (place, stop) in stops.iter().enumerate() {
        let file = folder.path(&place.to_string());
        let line = ["complete", "--temp", "0", "-p", "Once upon a time", "--stop", stop, "--session", text(&file)];
        let ran = run(&line).succeeded();
        let bytes = model.tokenizer().decode(restored(&file).0.ids());
        let kept = String::from_utf8(bytes).unwrap();
        assert_eq!(kept.trim_start(), format!("Once upon a time{}", ran.text()), "{stop:?}");
    }
    let file = folder.path("end");
    let line = ["complete", "--temp", "0", "-p", "Once upon a time", "--json", "--session", text(&file)];
    let ran = run(&line).succeeded();
    assert!(ran.text().contains("\"finish\":\"end\""), "{}", ran.text());
    let (generated, kept) = (ids(&ran), restored(&file).0.ids()[5..].to_vec());
    assert_eq!(kept, generated[..generated.len() - 1], "without the end token");
}

#[cfg(unix)]
#[test]
fn e08_a_text_goes_on_after_ctrl_c_where_it_was_printed() {
    let folder = Folder::new();
    let file = folder.path("a");
    let mut command = program();
    command.args(["complete", "Once upon a time", "--json", "-c", "500", "--temp", "0", "--ignore-eos", "--logprobs"]);
    // Several times what a pipe holds, so that the signal comes in time.
    command.args(["20", "--session", text(&file)]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.by_ref().take(5).collect::<Vec<_>>();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let printed = [first, lines.collect()].concat().join("\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let ran = crate::common::Ran { code: Some(0), stdout: printed.into_bytes(), stderr: String::new() };
    let given = ids(&ran);
    assert!((5..490).contains(&given.len()), "{}", given.len());
    assert_eq!(restored(&file).0.ids()[5..], given);

    let wanted = complete("Once upon a time", &["--ignore-eos", "-n", &(given.len() + 9).to_string()]).succeeded();
    let more = complete("", &["-n", "9", "--ignore-eos", "--session", text(&file)]).succeeded();
    assert_eq!([given.clone(), ids(&more)].concat(), ids(&wanted));
    assert_eq!(counts(&more, "cached_tokens"), [5 + given.len() as u64 - 1]);
}

/// The text is kept, its keys and values are not, because no request would find them.
#[test]
fn without_shared_pages_the_text_goes_on() {
    let folder = Folder::new();
    let file = folder.path("a");
    let whole = complete("Once upon a time", &["-n", "20"]).succeeded();
    let mut found = Vec::new();
    for (prompt, more) in [("Once upon a time", &["--no-prefix"][..]), ("", &[]), ("", &["--no-prefix"]), ("", &[])] {
        let ran = complete(prompt, &[&["-n", "5", "--session", text(&file)], more].concat()).succeeded();
        found.extend(ids(&ran));
        assert_eq!(counts(&ran, "cached_tokens"), [0]);
    }
    assert_eq!(found, ids(&whole));
}

/// Other sizes of pages, of the context and of the cache change nothing.
#[test]
fn a_session_goes_on_with_other_options_of_the_cache() {
    let folder = Folder::new();
    let file = folder.path("a");
    let whole = complete("Once upon a time", &["-n", "40"]).succeeded();
    let mut found = Vec::new();
    let ways: [&[&str]; 4] = [&["--kv-page", "16"], &["--kv-page", "128", "-t", "1"], &["-c", "100"], &["--mmap"]];
    for (part, way) in ways.iter().enumerate() {
        let prompt = if part == 0 { "Once upon a time" } else { "" };
        let ran = complete(prompt, &[&["-n", "10", "--session", text(&file)], *way].concat()).succeeded();
        found.extend(ids(&ran));
        assert_eq!(counts(&ran, "cached_tokens"), [if part == 0 { 0 } else { 4 + 10 * part as u64 }]);
    }
    assert_eq!(found, ids(&whole));
}
