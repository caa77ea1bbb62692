//! The commands that README.md promises to a new user.

use super::context::Context;
use super::outcome::Outcome;
use crate::error::Error;

/// Words that the story of the first command has at least.
const LEAST_WORDS: usize = 60;

/// Runs the first command of README.md as a shell would and counts the words of the story.
pub fn check(context: &Context, _: &str) -> Result<Outcome, Error> {
    let path = context.workspace.root().join("README.md");
    let readme = std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
    let Some(command) = commands(&readme).first().copied() else {
        return Ok(Outcome::failed("README.md has no shell command".to_owned()));
    };
    let story = String::from_utf8_lossy(&context.program("sh -c").arg(command).stdout()?).into_owned();
    let words = story.split_whitespace().count();
    Ok(if words < LEAST_WORDS {
        Outcome::failed(format!("{command} wrote {words} words, at least {LEAST_WORDS} are wanted:\n{story}"))
    } else {
        Outcome::passed()
    })
}

/// The lines of fenced `sh` blocks, without comments.
fn commands(markdown: &str) -> Vec<&str> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in markdown.lines() {
        if line.starts_with("```") {
            inside = !inside && line == "```sh";
        } else if inside && !line.trim().is_empty() && !line.starts_with('#') {
            commands.push(line.trim());
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_the_top(name: &str) -> String {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    #[test]
    fn only_shell_blocks_hold_commands() {
        let text = "```rust\nlet x = 1;\n```\n```sh\n# a story\ncargo run\n\ncargo xtask\n```\nfree text\n";
        assert_eq!(commands(text), ["cargo run", "cargo xtask"]);
    }

    #[test]
    fn the_readme_begins_with_the_story() {
        let readme = at_the_top("README.md");
        assert_eq!(commands(&readme).first(), Some(&"cargo run --release -- run \"Once upon a time\""));
    }

    #[test]
    fn the_readme_has_at_most_150_lines() {
        let lines = at_the_top("README.md").lines().count();
        assert!(lines <= 150, "README.md has {lines} lines");
    }

    #[test]
    fn continuous_integration_runs_only_the_tests_that_the_readme_names() {
        let script = at_the_top(".ci/run");
        let runs: Vec<&str> = script.lines().filter(|line| line.contains("cargo ")).collect();
        assert_eq!(runs, ["exec cargo xtask test --setup"]);
        assert!(commands(&at_the_top("README.md")).contains(&"cargo xtask test --setup"));
    }
}
