//! `run`: each way to give a prompt means what the table in `run --help` says, to the byte.

use crate::common::{Ran, program, run, run_with_input, story, write_story_without_template};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Which command `run` should be, and how it is made to be that.
struct Row {
    /// The model file, if there is one.
    model: Option<&'static str>,
    options: &'static [&'static str],
    raw: Option<&'static str>,
    wanted: &'static str,
}

const TEMPLATE: Option<&str> = Some("template.gguf");
const PLAIN: Option<&str> = Some("plain.gguf");

const ROWS: &[Row] = &[
    Row { model: TEMPLATE, options: &[], raw: None, wanted: "chat" },
    Row { model: PLAIN, options: &[], raw: None, wanted: "complete" },
    Row { model: TEMPLATE, options: &["--raw"], raw: None, wanted: "complete" },
    Row { model: PLAIN, options: &["--raw"], raw: None, wanted: "complete" },
    Row { model: TEMPLATE, options: &[], raw: Some("1"), wanted: "complete" },
    Row { model: TEMPLATE, options: &[], raw: Some("0"), wanted: "chat" },
    Row { model: TEMPLATE, options: &["--special"], raw: None, wanted: "complete" },
    Row { model: None, options: &[], raw: None, wanted: "complete" },
    Row { model: TEMPLATE, options: &["--system", "Be kind."], raw: None, wanted: "chat" },
    Row { model: PLAIN, options: &["--system", "Be kind."], raw: Some("1"), wanted: "chat" },
    Row { model: None, options: &["--system", "Be kind."], raw: None, wanted: "chat" },
];

/// How the prompt is given, and the text that it comes to; without one there is none.
const PROMPTS: &[(&str, Option<&str>)] = &[
    ("argument", Some("Once upon")),
    ("-p", Some("Once upon")),
    ("-f", Some("Once upon")),
    ("-f -", Some("a time")),
    ("pipe", Some("a time")),
    ("argument and pipe", Some("Once upon\n\na time")),
    ("-p and pipe", Some("Once upon\n\na time")),
    ("-f and pipe", Some("Once upon\n\na time")),
    ("argument and empty pipe", Some("Once upon")),
    ("none", None),
];

struct Files {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Files {
    fn new() -> Files {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_path_buf();
        std::fs::copy(story(), root.join("template.gguf")).unwrap();
        write_story_without_template(&root.join("plain.gguf"));
        std::fs::write(root.join("prompt.txt"), "Once upon\r\n").unwrap();
        std::fs::write(root.join("piped.txt"), "a time\n").unwrap();
        std::fs::write(root.join("empty.txt"), "").unwrap();
        Files { _folder: folder, root }
    }

    /// The program with these arguments and more that make its text short and the same each time.
    fn run(&self, arguments: &[&str], raw: Option<&str>, stdin: Stdio) -> Ran {
        let mut command = program();
        command.current_dir(&self.root).args(arguments).args(["-n", "3", "--seed", "5"]);
        command.envs(raw.map(|value| ("INKSTONE_RAW", value))).stdin(stdin);
        command.output().unwrap().into()
    }

    fn stdin(&self, name: &str) -> Stdio {
        File::open(self.root.join(name)).unwrap().into()
    }

    /// `run` with a prompt that is given in this way.
    fn prompted(&self, row: &Row, way: &str, json: &[&str]) -> Ran {
        let stdin = match way {
            "-f -" => self.stdin("piped.txt"),
            way if way.ends_with("empty pipe") => self.stdin("empty.txt"),
            way if way.ends_with("pipe") => self.stdin("piped.txt"),
            _ => Stdio::null(),
        };
        let prompt: &[&str] = match way.split(' ').next().unwrap() {
            "argument" => &["Once upon"],
            "-p" => &["-p", "Once upon"],
            "-f" if way == "-f -" => &["-f", "-"],
            "-f" => &["-f", "prompt.txt"],
            _ => &[],
        };
        let model: Vec<&str> = row.model.into_iter().collect();
        self.run(&[&["run"], &model[..], prompt, row.options, json].concat(), row.raw, stdin)
    }
}

/// Standard output without what differs from run to run.
fn result(ran: &Ran, json: bool) -> Vec<String> {
    let lines = ran.text().split_inclusive('\n');
    if !json {
        return lines.map(String::from).collect();
    }
    lines
        .map(|line| {
            let mut object: serde_json::Value = serde_json::from_str(line).unwrap();
            object.as_object_mut().unwrap().remove("timings");
            object.to_string()
        })
        .collect()
}

#[test]
fn every_row_is_chat_or_complete_to_the_byte() {
    let files = Files::new();
    for row in ROWS {
        let model: Vec<&str> = row.model.into_iter().collect();
        let options: Vec<&str> = row.options.iter().copied().filter(|option| *option != "--raw").collect();
        for json in [&[][..], &["--json"]] {
            for (way, text) in PROMPTS {
                let name = format!("{:?} {:?} {:?} {way} {json:?}", row.model, row.options, row.raw);
                let prompt: &[&str] = if let Some(text) = text { &["-p", text] } else { &[] };
                let wanted = [&[row.wanted], &model[..], prompt, &options, json].concat();
                let wanted = files.run(&wanted, None, Stdio::null());
                let ran = files.prompted(row, way, json);
                assert_eq!(result(&ran, !json.is_empty()), result(&wanted, !json.is_empty()), "{name}: {}", ran.stderr);
                let notes = ran.stderr.lines().filter(|line| line.starts_with("note: run ")).count();
                assert_eq!(notes, 1, "{name}: {}", ran.stderr);
                if row.wanted == "chat" && text.is_none() {
                    ran.refused_after(1, "standard input is empty; a prompt is an argument, -p TEXT, -f FILE");
                } else {
                    assert_eq!(ran.code, wanted.code, "{name}: {}", ran.stderr);
                }
            }
        }
    }
}

#[test]
fn a_message_of_chat_is_followed_by_what_is_piped_in() {
    let wanted = run(&["chat", "-p", "Hello\n\nyou", "--temp", "0", "-n", "5"]).succeeded();
    let ran = run_with_input(&["chat", "Hello", "--temp", "0", "-n", "5"], b"you\n").succeeded();
    assert_eq!(ran.text(), wanted.text());
}

#[test]
fn options_of_messages_and_of_raw_text_exclude_each_other() {
    let files = Files::new();
    for raw in ["--raw", "--special"] {
        files
            .run(&["run", "template.gguf", "Hi", "--system", "x", raw], None, Stdio::null())
            .refused(2, &format!("--system does not go with {raw}"));
    }
    files
        .run(&["run", "template.gguf", "Hi"], Some("yes"), Stdio::null())
        .refused(2, "INKSTONE_RAW is \"yes\", allowed: 0, 1, false, true");
}

#[test]
fn a_model_without_a_command_is_run_and_a_command_wins() {
    let files = Files::new();
    let wanted = files.run(&["chat", "template.gguf", "Hello"], None, Stdio::null()).succeeded();
    for model in [&["template.gguf"][..], &["./template.gguf"], &["-m", "template.gguf"]] {
        let ran = files.run(&[model, &["Hello"]].concat(), None, Stdio::null()).succeeded();
        assert_eq!(ran.text(), wanted.text());
    }
    std::fs::copy(files.root.join("template.gguf"), files.root.join("list")).unwrap();
    std::fs::copy(files.root.join("template.gguf"), files.root.join("show")).unwrap();
    let mut command = program();
    let shown: Ran = command.current_dir(&files.root).args(["show", "template.gguf"]).output().unwrap().into();
    assert!(shown.succeeded().text().contains("architecture"));
}

/// Devices have no end that a prompt could wait for.
#[cfg(unix)]
#[test]
fn a_device_is_not_read_behind_a_prompt() {
    let files = Files::new();
    let zeros: Stdio = File::open("/dev/zero").unwrap().into();
    files.run(&["run", "template.gguf", "Hello"], None, zeros).succeeded();
}

#[cfg(unix)]
#[test]
fn a_pipe_that_does_not_end_is_named() {
    let mut command = program();
    command.args(["run", "Hello", "-n", "1"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let wanted = "note: waiting for standard input to end; `< /dev/null` leaves it out";
    assert!(lines.any(|line| line == wanted), "the program does not say what it waits for");
    drop(stdin);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success() && !text.is_empty());
}

#[test]
fn threads_are_at_most_one_per_core_and_a_note_says_so() {
    let story = story();
    let ran = run(&["run", path(&story), "Hello", "-n", "1", "-t", "1000"]).succeeded();
    let cores = std::thread::available_parallelism().unwrap();
    let note = format!("note: --threads 1000: {cores} are used, one per available core");
    assert!(ran.stderr.lines().any(|line| line == note), "{}", ran.stderr);
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
