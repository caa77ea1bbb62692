//! Files that are refused, with one line, and stay as they were.

use super::{Folder, chat, complete, restored, text};
use crate::common::{Ran, program, run, story};
use inkstone::{Model, ModelOptions};
use std::fs;
use std::path::Path;

/// The folder with a text in the file `text` and a conversation in the file `chat`.
fn begun() -> Folder {
    let folder = Folder::new();
    complete("Once upon a time", &["-n", "20", "--session", text(&folder.path("text"))]).succeeded();
    chat("Tell me a story.", &["--session", text(&folder.path("chat"))]).succeeded();
    folder
}

/// Runs `complete` and `chat`, which refuse the file, and change nothing in the folder.
#[track_caller]
fn refused(folder: &Folder, name: &str, more: &[&str], wanted: &str) {
    for (command, session) in [("complete", name.replace("KIND", "text")), ("chat", name.replace("KIND", "chat"))] {
        refused_by(folder, command, &session, more, wanted);
    }
}

#[track_caller]
fn refused_by(folder: &Folder, command: &str, name: &str, more: &[&str], wanted: &str) {
    let (path, before) = (folder.path(name), folder.contents());
    let ran = run(&[&[command, "-p", "Hi", "-n", "2", "--session", text(&path)], more].concat());
    ran.refused(1, wanted);
    assert!(ran.stderr.contains(&format!("{}: ", path.display())), "{}", ran.stderr);
    assert!(folder.contents() == before, "{command} {name}: the folder has changed");
}

/// Writes the checksum of a file anew, by the description of the format.
fn sign(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len() - 8);
    let step = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        hash ^ hash >> 32
    };
    let mut words = bytes.clone();
    words.resize((bytes.len() / 8 + 1) * 8, 0);
    let words = words.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let sum = step(words.fold(0xcbf2_9ce4_8422_2325, step), bytes.len() as u64);
    bytes.extend(sum.to_le_bytes());
}

#[test]
fn g5_a_session_of_another_model_is_refused() {
    let folder = begun();
    let other = tempfile::tempdir().unwrap();
    let model = other.path().join("other.gguf");
    let mut bytes = fs::read(story()).unwrap();
    // A value of the last tensor.
    let last = bytes.len() - 40;
    bytes[last] ^= 1;
    fs::write(&model, bytes).unwrap();
    refused(&folder, "KIND", &["-m", text(&model)], "; the file is of another model or window");
}

#[test]
fn g5_a_session_with_another_cache_or_engine_is_refused() {
    let folder = begun();
    let formats = ": format of keys and values is F16 and F16, expected F32 and F32";
    refused(&folder, "KIND", &["--kv-type", "f32"], formats);
    refused(&folder, "KIND", &["--engine", "reference"], ": engine is cpu, expected reference");
}

#[test]
fn g5_a_session_longer_than_the_context_is_refused() {
    let folder = begun();
    let tokens = |name: &str| restored(&folder.path(name)).0.ids().len();
    for (command, name) in [("complete", "text"), ("chat", "chat")] {
        let wanted = format!(": number of tokens is {}, expected at most 16, the context", tokens(name));
        refused_by(&folder, command, name, &["-c", "16"], &wanted);
    }
}

#[test]
fn g5_a_damaged_session_is_refused() {
    let folder = begun();
    for kind in ["text", "chat"] {
        let whole = fs::read(folder.path(kind)).unwrap();
        for len in [0, 1, 7, 8, 9, 100, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
            fs::write(folder.path("cut"), &whole[..len]).unwrap();
            let wanted =
                if len < 8 { format!("length is {len} bytes, expected at least 8") } else { "checksum is ".into() };
            refused(&folder, "cut", &[], &wanted);
        }
        for at in [0, 8, 20, 60, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(folder.path("flipped"), &bytes).unwrap();
            refused(&folder, "flipped", &[], "; the file is cut short or changed, or it is no session file");
        }
    }
}

#[test]
fn g5_tokens_outside_the_vocabulary_are_refused() {
    let folder = begun();
    for kind in ["text", "chat"] {
        let mut bytes = fs::read(folder.path(kind)).unwrap();
        let first: Vec<u8> = restored(&folder.path(kind)).0.ids()[..4].iter().flat_map(|id| id.to_le_bytes()).collect();
        let at = bytes.windows(16).position(|part| part == first).unwrap();
        bytes[at + 4..at + 8].copy_from_slice(&4096u32.to_le_bytes());
        sign(&mut bytes);
        fs::write(folder.path("wrong"), &bytes).unwrap();
        refused(&folder, "wrong", &[], ": token is 4096 at place 1, expected below 4096, the vocabulary");
        bytes[8] = 2;
        sign(&mut bytes);
        fs::write(folder.path("wrong"), &bytes).unwrap();
        refused(&folder, "wrong", &[], ": version is 2, expected 1");
    }
}

#[test]
fn g5_what_is_no_session_is_refused_before_the_model_is_loaded_or_after() {
    let folder = begun();
    fs::copy(story(), folder.path("model")).unwrap();
    fs::write(folder.path("empty"), "").unwrap();
    fs::write(folder.path("lines"), "Once upon a time\n".repeat(9)).unwrap();
    fs::create_dir(folder.path("folder")).unwrap();
    for name in ["model", "lines"] {
        refused(&folder, name, &[], "or it is no session file");
    }
    refused(&folder, "empty", &[], ": length is 0 bytes, expected at least 8");
    // There is no such model: the file was looked at first.
    let missing = ["-m", "missing.gguf"];
    refused(&folder, "folder", &missing, ": kind is a folder, expected a file");
    refused(&folder, "no/such", &missing, ": can't make a file in the folder: ");
    refused(&folder, "lines/x", &missing, ": can't open the file: ");
    run(&["complete", "Hi", "--session", ""]).refused(2, "--session needs a value");
    // A terabyte without contents is not read.
    if fs::File::create(folder.path("large")).and_then(|file| file.set_len(1 << 40)).is_ok() {
        let path = folder.path("large");
        run(&["complete", "Hi", "--session", text(&path)])
            .refused(1, "length is 1099511627776 bytes, expected at most ");
    }
}

#[cfg(unix)]
#[test]
fn g5_what_cannot_be_read_or_written_is_refused_before_the_model_is_loaded() {
    use std::os::unix::fs::PermissionsExt;
    let folder = begun();
    let missing = ["-m", "missing.gguf"];
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for device in [Path::new("/dev/zero"), &pipe] {
        let ran = run(&[&["complete", "Hi", "--session", text(device)], &missing[..]].concat());
        ran.refused(1, ": kind is a device or a pipe, expected a file");
    }
    fs::remove_file(pipe).unwrap();
    run(&["complete", "Hi", "--session", "/proc/x", "-m", "missing.gguf"]).refused(1, "/proc/x: can't make a file in");
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&folder.path("text"), 0);
    // Permissions do not bind the superuser.
    if fs::read(folder.path("text")).is_err() {
        refused(&folder, "text", &missing, ": can't open the file: ");
    }
    set(&folder.path("text"), 0o644);
    set(folder.0.path(), 0o555);
    if fs::write(folder.path("probe"), "").is_err() {
        refused(&folder, "KIND", &missing, ": can't make a file in the folder: ");
    }
    set(folder.0.path(), 0o755);
}

/// `complete` adds to raw text only: what it would add to a conversation is no message.
#[test]
fn g5_a_session_of_the_other_kind_is_refused() {
    let folder = begun();
    let wanted = "the session has messages, which are not raw text; `inkstone chat` goes on from it";
    refused_by(&folder, "complete", "chat", &[], wanted);
    refused_by(&folder, "run", "chat", &[], wanted);
    refused_by(&folder, "chat", "text", &[], "the session has no conversation: its text is raw");
    let model = Model::embedded(&ModelOptions::default()).unwrap();
    let cases = [
        ("x", "its bytes are not JSON: expected value at line 1 column 1"),
        ("{\"version\": 2, \"messages\": []}", "its version is 2, expected 1"),
        ("{\"version\": 1, \"messages\": [{\"role\": \"\\n\"}]}", "message 1: the role of a message is "),
    ];
    for (bytes, reason) in cases {
        model.session().save(folder.path("other"), bytes.as_bytes()).unwrap();
        refused_by(&folder, "complete", "other", &[], wanted);
        refused_by(&folder, "chat", "other", &[], &format!("the session has no conversation: {reason}"));
    }
}

/// A generation that fails, and a result that can't be written, change no file.
#[test]
fn an_error_changes_no_file() {
    let folder = begun();
    let before = folder.contents();
    let file = folder.path("text");
    let note = format!("note: the session is not saved to {}", file.display());
    let failed = |ran: &Ran, code, wanted: &str| {
        ran.refused_after(code, wanted);
        assert!(ran.stderr.lines().any(|line| line == note), "{}", ran.stderr);
        assert!(folder.contents() == before, "the folder has changed");
    };
    let long = "word ".repeat(60);
    let ran = run(&["complete", "-c", "64", "-p", &long, "--session", text(&file)]);
    failed(&ran, 1, "tokens, the context holds 64");
    failed(&run(&["complete", "Hi", "--ban", "4000000", "--session", text(&file)]), 2, "4000000");
    #[cfg(target_os = "linux")]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = program();
        command.args(["complete", "Hi", "-n", "5", "--session", text(&file)]);
        let ran = Ran::from(command.stdout(full).output().unwrap());
        failed(&ran, 1, "standard output: can't write: ");
    }
}

/// A prompt may be empty only if there is a text. The story model begins each text with a token, unless its file says
/// otherwise.
#[test]
fn an_empty_prompt_needs_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let (model, file) = (folder.path().join("m.gguf"), folder.path().join("a"));
    // The key of the switch is one that nobody reads.
    let (mut bytes, key) = (fs::read(story()).unwrap(), b"tokenizer.ggml.add_bos_token");
    let at = bytes.windows(key.len()).position(|part| part == key).expect("the key");
    bytes[at + key.len() + 4] = 0;
    fs::write(&model, bytes).unwrap();
    let line = ["complete", "-m", text(&model), "-n", "2", "--session", text(&file), "-p"];
    run(&[&line[..], &[""]].concat()).refused_after(1, "the prompt has no tokens");
    assert!(!file.exists());
    run(&[&line[..], &["Once"]].concat()).succeeded();
    run(&[&line[..], &[""]].concat()).succeeded();
}
