//! Shell blocks as a reader would run them: in a folder of their own, with the program `inkstone` on the search path.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use super::markdown::{Block, Markdown};
use crate::command::Program;
use crate::error::Error;

/// Languages of blocks that hold commands. In a `console` block these are the lines after `$ `; the others show output.
const LANGUAGES: &[&str] = &["sh", "console"];

/// Names under which a block finds the story model. `models` is the folder of `INKSTONE_MODELS`.
const MODELS: &[&str] = &["model.gguf", "models/Qwen3-0.6B-Q8_0.gguf"];

/// Other files that a block finds.
const FILES: &[(&str, &str)] = &[
    ("prompt.txt", "Once upon a time"),
    ("question.txt", "Who was there?"),
    ("report.txt", "There was a fox. The fox lived in the forest."),
    ("chat.json", r#"[{"role": "user", "content": "Tell me a story."}]"#),
    ("requests.jsonl", "{\"prompt\": \"Once upon a time\", \"max_tokens\": 4}\n"),
    ("new.jinja", "{% for message in messages %}{{ message.content }}{% endfor %}"),
];

/// Programs that a block may not call to be run here: they install, build the whole project, or need a network or much time.
const FOREIGN: &[&str] = &["cargo", "rustup", "git", "curl", "wget", "hf", "pip", "python3", "docker", "sudo"];

/// Ends of words that are names of files.
const ENDS: &[&str] = &[".gguf", ".txt", ".json", ".jsonl", ".jinja", ".npy", ".md", ".sh", ".py", ".log"];

/// Commands of a block, to be run by `sh -e`, or what keeps them from being run.
#[derive(Debug, PartialEq)]
pub enum Script {
    Runs(String),
    Needs(String),
}

/// All shell blocks, with the page and the line.
pub fn scripts(pages: &BTreeMap<String, Markdown>) -> Vec<(String, Script)> {
    let all = pages.iter().flat_map(|(name, page)| page.blocks.iter().map(move |block| (name, block)));
    let shell = all.filter(|(_, block)| LANGUAGES.contains(&block.language()));
    shell.map(|(name, block)| (format!("{name}:{}", block.line), script(&commands(block)))).collect()
}

fn commands(block: &Block) -> String {
    if block.language() == "sh" {
        return block.code.clone();
    }
    block.code.lines().filter_map(|line| line.strip_prefix("$ ")).map(|line| format!("{line}\n")).collect()
}

fn script(commands: &str) -> Script {
    let mut made: Vec<&str> = Vec::new();
    for line in commands.lines() {
        // A comment needs nothing.
        let line = line.split(" #").next().unwrap_or_default();
        if line.starts_with('#') {
            continue;
        }
        let mut before = "";
        for word in line.split(|c: char| c.is_whitespace() || "\"'();".contains(c)).filter(|w| !w.is_empty()) {
            let is_command = matches!(before, "" | "|" | "&&" | "||");
            let (is_written, name) = match word.trim_start_matches('>') {
                name if name.len() < word.len() => (true, name),
                name => (matches!(before, ">" | ">>" | "-o" | "--out"), name.trim_start_matches('<')),
            };
            if is_command && FOREIGN.contains(&name) {
                return Script::Needs(name.to_owned());
            }
            if is_written {
                made.push(name);
            }
            let is_there =
                MODELS.contains(&name) || FILES.iter().any(|(file, _)| *file == name) || made.contains(&name);
            if ENDS.iter().any(|end| name.ends_with(end)) && !is_there {
                return Script::Needs(name.to_owned());
            }
            before = word;
        }
    }
    Script::Runs(commands.lines().map(|line| with_message(line) + "\n").collect())
}

/// A command that opens a conversation needs a terminal. Here it gets a message from a file.
fn with_message(line: &str) -> String {
    let command = line.split(" #").next().unwrap_or_default().trim();
    match command.split_whitespace().collect::<Vec<_>>()[..] {
        ["inkstone", "chat"] | ["inkstone", "run" | "chat", "model.gguf"] => format!("{command} < prompt.txt"),
        _ => line.to_owned(),
    }
}

/// Runs the commands in `folder` up to the first that fails. Files of the user are neither read nor written.
pub fn program(commands: &str, folder: &Path, path: &OsStr) -> Program {
    let sh = Program::new("sh -e -c", folder).arg(commands).env("PATH", path);
    sh.env("HOME", folder).env("INKSTONE_MODELS", folder.join("models"))
}

/// Makes `folder` anew, with the files that blocks find.
pub fn write_files(folder: &Path, story: &Path) -> Result<(), Error> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
    }
    for name in MODELS {
        let path = folder.join(name);
        let at = |source| Error::File { path: path.clone(), source };
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(at)?;
        std::fs::copy(story, &path).map_err(at)?;
    }
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|source| Error::File { path, source })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts_of(text: &str) -> Vec<(String, Script)> {
        scripts(&BTreeMap::from([("README.md".to_owned(), Markdown::new(text))]))
    }

    fn needs(commands: &str) -> Option<String> {
        match script(commands) {
            Script::Needs(what) => Some(what),
            Script::Runs(_) => None,
        }
    }

    #[test]
    fn shell_blocks_are_found_and_in_sessions_the_commands() {
        let text = "```sh\n# list\nls\n```\n```text\nno\n```\n```console\n$ echo a\na\n$ echo b\n```\n";
        let runs = |at: &str, script: &str| (format!("README.md:{at}"), Script::Runs(script.to_owned()));
        assert_eq!(scripts_of(text), [runs("1", "# list\nls\n"), runs("8", "echo a\necho b\n")]);
    }

    #[test]
    fn a_block_fails_with_any_of_its_commands_and_finds_its_files() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("block");
        std::fs::write(place.path().join("story"), "GGUF").unwrap();
        let run = |commands: &str| {
            write_files(&folder, &place.path().join("story")).unwrap();
            program(commands, &folder, &std::env::var_os("PATH").unwrap()).stdout()
        };
        let output = run("cat model.gguf \"$INKSTONE_MODELS\"/*.gguf prompt.txt > ~/all.txt\ncat all.txt\n").unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), "GGUFGGUFOnce upon a time");
        assert!(run("cat all.txt\ntrue\n").is_err(), "an earlier block's files are gone");
        assert!(run("false\ntrue\n").is_err());
    }

    #[test]
    fn conversations_get_a_message() {
        let text = "inkstone run model.gguf    # a conversation\ninkstone run model.gguf \"Hello\"\n";
        let expected = "inkstone run model.gguf < prompt.txt\ninkstone run model.gguf \"Hello\"\n";
        assert_eq!(script(text), Script::Runs(expected.to_owned()));
    }

    #[test]
    fn what_a_block_needs_is_named() {
        assert_eq!(needs("inkstone run \"Once upon a time\"\ninkstone run model.gguf < prompt.txt\n"), None);
        assert_eq!(
            needs("inkstone logits model.gguf --ids 1 --out a.npy\ninkstone show model.gguf >b.txt\ncat a.npy b.txt"),
            None
        );
        assert_eq!(needs("inkstone run 'a cargo of git'  # see other.gguf\n"), None);
        assert_eq!(needs("inkstone run ~/llama.gguf"), Some("~/llama.gguf".to_owned()));
        assert_eq!(needs("inkstone run <other.txt"), Some("other.txt".to_owned()));
        assert_eq!(needs("ls &&\ncargo install inkstone-cli"), Some("cargo".to_owned()));
        assert_eq!(needs("inkstone show model.gguf | curl"), Some("curl".to_owned()));
    }
}
