//! `list`, and the names that it shows in place of paths.

use crate::common::{Ran, program, story, vocabulary, write_gguf};
use inkstone::gguf::TensorSpec;
use inkstone::tensor::DType;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A home with nothing in it, and the program that sees it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// The path with its folder.
    fn make(&self, path: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// A vocabulary: a file of this architecture that does not run.
    fn vocabulary(&self, path: &str, architecture: &str) -> PathBuf {
        let path = self.make(path);
        let mut metadata = vocabulary(true);
        metadata.insert("general.architecture", architecture);
        write_gguf(&path, &metadata, vec![TensorSpec::new("x", DType::F32, &[2])]);
        path
    }

    /// A model that runs.
    fn story(&self, path: &str) -> PathBuf {
        let path = self.make(path);
        fs::copy(story(), &path).unwrap();
        path
    }

    /// A model of Ollama: its manifest, and its blob if there are bytes.
    fn ollama(&self, models: &str, name: &str, digit: char, blob: Option<&[u8]>) -> PathBuf {
        let hash = String::from(digit).repeat(64);
        let manifest = json!({"schemaVersion": 2, "layers": [
            {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00", "size": 1},
            {"mediaType": "application/vnd.ollama.image.model", "digest": format!("sha256:{hash}"), "size": 1},
        ]});
        fs::write(self.make(&format!("{models}/manifests/{name}")), manifest.to_string()).unwrap();
        let path = self.make(&format!("{models}/blobs/sha256-{hash}"));
        if let Some(bytes) = blob {
            fs::write(&path, bytes).unwrap();
        }
        path
    }

    fn program(&self) -> Command {
        let mut command = program();
        command.env("HOME", self.0.path()).env_remove("OLLAMA_MODELS").current_dir(self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.program().args(arguments).output().unwrap().into()
    }
}

fn listed(command: &mut Command) -> Vec<Value> {
    let ran = Ran::from(command.args(["list", "--json"]).output().unwrap()).succeeded();
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// Name and path of each, without what the machine of the test may have.
fn places(listed: &[Value]) -> Vec<(&str, &str)> {
    let places = listed.iter().map(|m| (m["name"].as_str().unwrap(), m["path"].as_str().unwrap_or("-")));
    places.filter(|(_, path)| !path.starts_with("/usr/share/ollama")).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The caches in the home, as each program writes them.
#[cfg(unix)]
#[test]
fn the_models_of_each_program_are_listed() {
    let home = Home::new();
    let caches = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    let llama_cpp = home.vocabulary(&format!("{caches}/llama.cpp/org_Tiny-GGUF_tiny-q8_0.gguf"), "llama");
    fs::write(home.path(&format!("{caches}/llama.cpp/manifest=org=Tiny-GGUF=latest.json")), "{}").unwrap();
    fs::write(home.path(&format!("{caches}/llama.cpp/part.gguf.downloadInProgress")), "").unwrap();
    let repository = ".cache/huggingface/hub/models--org--Tiny";
    let blob = home.story(&format!("{repository}/blobs/abc"));
    let hub = home.make(&format!("{repository}/snapshots/123/tiny-f16.gguf"));
    std::os::unix::fs::symlink("../../blobs/abc", &hub).unwrap();
    std::os::unix::fs::symlink("../../blobs/def", hub.with_file_name("missing.gguf")).unwrap();
    let ollama =
        home.ollama(".ollama/models", "registry.ollama.ai/library/tiny/latest", 'a', Some(&fs::read(&blob).unwrap()));
    home.ollama(".ollama/models", "registry.ollama.ai/library/tiny/1b", 'a', None);
    home.ollama(".ollama/models", "registry.ollama.ai/me/tiny/1b", 'a', None);
    home.ollama(".ollama/models", "hf.co/org/Tiny-GGUF/Q8_0", 'a', None);
    home.ollama(".ollama/models", "registry.ollama.ai/library/lost/1b", 'b', None);
    fs::write(home.make(".ollama/models/manifests/registry.ollama.ai/library/broken/1b"), "{").unwrap();
    let lm_studio = home.vocabulary(".lmstudio/models/org/Tiny/tiny.gguf", "qwen2");
    let older = home.vocabulary(".cache/lm-studio/models/org/Old/old.gguf", "gpt2");
    // LM Studio's home can be moved.
    let moved = home.vocabulary("disk/LM Studio/models/org/Moved/moved.gguf", "llama");
    fs::write(home.path(".lmstudio-home-pointer"), text(&home.path("disk/LM Studio"))).unwrap();

    let listed = listed(&mut home.program());
    let of_ollama = text(&ollama);
    assert_eq!(
        places(&listed),
        [
            ("hf.co/org/Tiny-GGUF:Q8_0", of_ollama),
            ("me/tiny:1b", of_ollama),
            ("moved", text(&moved)),
            ("old", text(&older)),
            ("org_Tiny-GGUF_tiny-q8_0", text(&llama_cpp)),
            ("story", "-"),
            ("tiny", text(&lm_studio)),
            ("tiny-f16", text(&hub)),
            ("tiny:1b", of_ollama),
            ("tiny:latest", of_ollama),
        ]
    );
    let one = listed.iter().find(|m| m["name"] == "tiny-f16").unwrap();
    let bytes = fs::metadata(story()).unwrap().len();
    let wanted = json!({"name": "tiny-f16", "path": text(&hub), "architecture": "llama", "bytes": bytes, "runs": true,
                        "reason": null});
    assert_eq!(one, &wanted);
    let builtin = listed.iter().find(|m| m["name"] == "story").unwrap();
    assert_eq!((&builtin["path"], &builtin["bytes"], &builtin["runs"]), (&Value::Null, &json!(bytes), &json!(true)));
}

#[test]
fn variables_name_other_folders() {
    let home = Home::new();
    home.vocabulary(".cache/llama.cpp/default.gguf", "llama");
    let own = home.vocabulary("own/deep/er/a.gguf", "llama");
    let second = home.vocabulary("second/b.gguf", "llama");
    let llama_cpp = home.vocabulary("l/c.gguf", "llama");
    let hub = home.vocabulary("h/hub/models--o--n/snapshots/1/d.gguf", "llama");
    let ollama = home.ollama("o", "registry.ollama.ai/library/e/1b", 'e', Some(b"GGUF"));
    let mut command = home.program();
    let list = std::env::join_paths([home.path("own"), home.path("missing"), home.path("second")]).unwrap();
    command.env("INKSTONE_MODELS", list).env("LLAMA_CACHE", home.path("l")).env("HF_HOME", home.path("h"));
    let listed = listed(command.env("OLLAMA_MODELS", home.path("o")));
    assert_eq!(
        places(&listed),
        [
            ("a", text(&own)),
            ("b", text(&second)),
            ("c", text(&llama_cpp)),
            ("d", text(&hub)),
            ("e:1b", text(&ollama)),
            ("story", "-")
        ]
    );
}

/// What does not run has its reason.
#[test]
fn the_table_says_what_runs_and_why_not() {
    let home = Home::new();
    home.story("own/runs.gguf");
    home.vocabulary("own/novel.gguf", "quill");
    home.vocabulary("own/mmproj-model.gguf", "clip");
    home.vocabulary("own/thin.gguf", "llama");
    home.vocabulary("own/large-00001-of-00003.gguf", "llama");
    home.vocabulary("own/large-00002-of-00003.gguf", "llama");
    home.vocabulary("own/bad\x1b[2J\nname.gguf", "evil\x1b[2J\nname");
    fs::write(home.path("own/text.gguf"), "Once upon a time").unwrap();
    let mut command = home.program();
    let ran = Ran::from(
        command.env("INKSTONE_MODELS", home.path("own")).env("OLLAMA_MODELS", "none").arg("list").output().unwrap(),
    );
    let ran = ran.succeeded();
    assert_eq!(ran.stderr, "");
    let lines: Vec<&str> = ran.text().lines().collect();
    assert!(!ran.text().contains('\x1b'), "{}", ran.text());
    let starts: Vec<_> = lines.iter().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(
        starts,
        ["name", "bad\\u{1b}[2J\\nname", "large", "mmproj-model", "novel", "runs", "story", "text", "thin"],
        "{}",
        ran.text()
    );
    let ends = [
        (1, "no: architecture evil\\u{1b}[2J\\nname is not supported"),
        (
            2,
            "large-00001-of-00003.gguf  no: it is split into 3 files, 1 of them missing; split models are not supported yet",
        ),
        (3, "no: an encoder of images or sound (mmproj), not a language model"),
        (4, "no: architecture quill is not supported"),
        (5, "own/runs.gguf  yes"),
        (6, "(inside the program)  yes"),
        (7, "own/text.gguf  no: not a GGUF file: it begins with \"Once\" (a text file)"),
        (8, "own/thin.gguf  no: "),
    ];
    for (line, end) in ends {
        let line = lines[line];
        let column = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(column(line).contains(&column(end)), "{line:?} lacks {end:?}");
    }
    let size = fs::metadata(story()).unwrap().len() as f64 / 1e6;
    assert!(lines[5].contains(&format!(" {size:.2} MB ")), "{}", lines[5]);
}

/// Only the folders that the user has named: most users have none of the caches.
#[test]
fn a_named_folder_that_cannot_be_read_has_one_note() {
    let home = Home::new();
    let model = home.story("own/runs.gguf");
    let folders = ["own", "missing", "own/runs.gguf", "missing"].map(|folder| home.path(folder));
    let mut command = home.program();
    command.env("INKSTONE_MODELS", std::env::join_paths(&folders).unwrap()).env("LLAMA_CACHE", home.path("no-cache"));
    let ran = Ran::from(command.env("OLLAMA_MODELS", "none").arg("list").output().unwrap()).succeeded();
    let notes: Vec<_> = ran.stderr.lines().collect();
    assert_eq!(notes.len(), 2, "{}", ran.stderr);
    for (note, folder) in notes.iter().zip(&folders[1..]) {
        let start = format!("note: INKSTONE_MODELS: {}: can't be read: ", folder.display());
        assert!(note.starts_with(&start), "{note:?} does not start with {start:?}");
    }
    assert!(ran.text().contains(text(&model)), "{}", ran.text());
    // Commands that look up a name have no such note.
    command = home.program();
    let ran = Ran::from(command.env("INKSTONE_MODELS", &folders[1]).args(["show", "story"]).output().unwrap());
    assert_eq!(ran.succeeded().stderr, "");
}

#[test]
fn without_files_a_note_says_where_they_are_searched() {
    let home = Home::new();
    let ran = Ran::from(home.program().env("OLLAMA_MODELS", "none").arg("list").output().unwrap()).succeeded();
    assert!(ran.text().lines().nth(1).unwrap().starts_with("story "), "{}", ran.text());
    assert_eq!(home.run(&["ls"]).succeeded().text(), home.run(&["list"]).succeeded().text());
    assert!(
        ran.stderr.starts_with("note: no GGUF file in: ") && ran.stderr.contains("INKSTONE_MODELS"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(text(&home.path(".lmstudio/models"))), "{}", ran.stderr);
}

/// Every command that takes a model takes its name.
#[test]
fn a_listed_name_works_wherever_a_path_does() {
    let home = Home::new();
    home.ollama(".ollama/models", "registry.ollama.ai/library/tale/latest", 'a', Some(&fs::read(story()).unwrap()));
    let messages = home.path("messages.json");
    fs::write(&messages, r#"[{"role": "user", "content": "Hi"}]"#).unwrap();
    let messages = text(&messages);
    let plain = ["-n", "3", "--seed", "1", "-c", "64"];
    for name in ["tale:latest", "tale", "story"] {
        let commands: [&[&str]; 11] = [
            &[&["complete", name, "Once"], &plain[..]].concat(),
            &[&["complete", "-m", name, "-p", "Once"], &plain[..]].concat(),
            &[&["run", "-m", name, "-p", "Once", "--raw"], &plain[..]].concat(),
            &[&[name, "Once", "--raw"], &plain[..]].concat(),
            &[&["chat", name, "Hi"], &plain[..]].concat(),
            &[&["chat", "-m", name, "Hi"], &plain[..]].concat(),
            &["show", name],
            &["tokenize", name, "Once"],
            &["template", name, "--messages", messages],
            &["explain", name, "--plan"],
            &["logits", name, "--ids", "1", "--out", "out.npy"],
        ];
        for command in commands {
            let by_name = home.run(command).succeeded();
            let path = story();
            let by_path = command.iter().map(|a| if *a == name { text(&path) } else { a });
            let by_path = home.run(&by_path.collect::<Vec<_>>()).succeeded();
            let skip = usize::from(command[0] == "show");
            assert_eq!(
                by_name.text().lines().skip(skip).collect::<Vec<_>>(),
                by_path.text().lines().skip(skip).collect::<Vec<_>>(),
                "{command:?}"
            );
        }
    }
    // Its name is in the results.
    for (name, wanted) in [("tale", "tale"), ("tale:latest", "tale:latest"), (text(&story()), "story-5m-q8_0")] {
        let ran = home.run(&["bench", name, "-p", "8", "-n", "0", "-r", "2", "-t", "1", "-o", "json"]).succeeded();
        assert!(ran.text().contains(&format!("{wanted:?}")), "{}", ran.text());
    }
    home.run(&[
        "logits",
        "tale",
        "--ids",
        "1",
        "--out",
        text(&home.path(&format!(".ollama/models/blobs/sha256-{}", "a".repeat(64)))),
    ])
    .refused(2, "is the model itself");
}

/// A single argument: a listed name is the model, and standard input the prompt.
#[test]
fn a_single_name_is_the_model() {
    let home = Home::new();
    home.story(".lmstudio/models/org/Tiny/Tiny-5M.gguf");
    let prompt = home.path("prompt.txt");
    fs::write(&prompt, "Once upon a time").unwrap();
    let plain = ["-n", "3", "--seed", "1", "-c", "64"];
    let wanted =
        home.run(&[&["complete", "-m", text(&story()), "-p", "Once upon a time"], &plain[..]].concat()).succeeded();
    for name in ["Tiny-5M", "Tiny-5M.gguf", "story"] {
        let mut command = home.program();
        command.args(["complete", name]).args(plain).stdin(fs::File::open(&prompt).unwrap());
        assert_eq!(Ran::from(command.output().unwrap()).succeeded().text(), wanted.text(), "{name}");
    }
}

#[test]
fn a_file_wins_over_a_name() {
    let home = Home::new();
    home.story(".lmstudio/models/org/Tiny/tiny.gguf");
    home.vocabulary("tiny", "here");
    fs::create_dir(home.path("story")).unwrap();
    assert!(home.run(&["show", "tiny"]).succeeded().text().contains("architecture  here"));
    assert!(home.run(&["show", "tiny.gguf"]).succeeded().text().contains("architecture  llama"));
    // A folder is no file.
    assert!(home.run(&["show", "story"]).succeeded().text().contains("the embedded model"));
}

#[test]
fn an_ambiguous_name_is_an_error_that_lists_the_paths() {
    let home = Home::new();
    let first = home.vocabulary(".lmstudio/models/one/Tiny/tiny.gguf", "llama");
    let second = home.vocabulary(".lmstudio/models/two/Tiny/tiny.gguf", "llama");
    let wanted =
        format!("\"tiny\" is the name of 2 models; give the path of one: {}, {}", first.display(), second.display());
    for command in [
        &["run", "tiny"][..],
        &["run", "tiny", "Once"],
        &["run", "-m", "tiny", "-p", "Once"],
        &["chat", "tiny", "Hi"],
        &["show", "tiny"],
        &["tokenize", "tiny", "Once"],
        &["template", "tiny"],
        &["explain", "tiny"],
        &["bench", "tiny"],
        &["logits", "tiny", "--ids", "1", "--out", "x"],
    ] {
        home.run(command).refused(2, &wanted);
    }
    home.run(&["show", text(&first)]).succeeded();
}

#[test]
fn the_name_of_a_model_that_is_not_there_is_no_prompt() {
    let home = Home::new();
    home.ollama(".ollama/models", "registry.ollama.ai/library/llama3.2/1b", 'a', Some(b"GGUF"));
    for command in ["run", "complete", "chat"] {
        for name in ["llama3.2", "qwen", "mistral:7b", "custom:latest"] {
            let ran = home.run(&[command, name]);
            assert_eq!(home.run(&[name]).stderr, ran.stderr);
            ran.refused(2, &format!("{name:?} looks like the name of a model, but this machine has no such model"));
            ran.refused(2, "models are GGUF files, `inkstone list` shows them");
            assert_eq!(ran.stderr.contains("did you mean llama3.2:1b?"), name == "llama3.2", "{}", ran.stderr);
        }
    }
    for prompt in [&["Once"][..], &["Hello"], &["-p", "llama3.2"], &["story", "llama3.2"]] {
        home.run(&[&["run", "-n", "2"], prompt].concat()).succeeded();
    }
    home.run(&["show", "llama3.1:1b"]).refused(1, "llama3.1:1b: no such file; did you mean llama3.2:1b?");
}
