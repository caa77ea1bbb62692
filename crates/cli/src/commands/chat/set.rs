//! `/set`: options by their names on the command line or in Ollama.

use super::command::Command;
use crate::args::is_fixed;

/// Names of Ollama for options with another name on the command line.
const OTHER_NAMES: &[(&str, &str)] =
    &[("num-predict", "max-tokens"), ("num-ctx", "ctx"), ("num-thread", "threads"), ("use-mmap", "mmap")];

/// `NAME VALUE`, `parameter NAME VALUE`, `system TEXT`, `verbose` or `quiet`.
pub(super) fn parse(argument: &str) -> Result<Command<'_>, String> {
    let (name, value) = first_word(argument);
    match name {
        "system" => Ok(Command::system(value)),
        "verbose" | "quiet" if value.is_empty() => Ok(Command::Verbose(name == "verbose")),
        "verbose" | "quiet" => Err(format!("/set {name} takes no value, found {value:?}")),
        "parameter" if value.is_empty() => Err("/set parameter needs NAME VALUE".to_string()),
        "parameter" => option(first_word(value)),
        _ => option((name, value)),
    }
}

/// A change of an option. Underscores in its name are dashes.
fn option((given, value): (&str, &str)) -> Result<Command<'static>, String> {
    let name = given.trim_start_matches('-').replace('_', "-");
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name.as_str(), |(_, name)| name);
    if is_fixed(name) {
        return Err(format!("{given} is fixed during a conversation; --{name} sets it when the program starts"));
    }
    Ok(Command::Set(format!("{name} {value}").trim_end().to_string()))
}

fn first_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_both_programs() {
        let cases = [
            ("temperature 0.5", "temperature 0.5"),
            ("parameter temperature 0.5", "temperature 0.5"),
            ("parameter  top_k  40", "top-k 40"),
            ("repeat_penalty 1.1", "repeat-penalty 1.1"),
            ("--top-p 0.5", "top-p 0.5"),
            ("parameter num_predict 5", "max-tokens 5"),
            ("parameter stop two words", "stop two words"),
            ("parameter seed", "seed"),
        ];
        for (typed, wanted) in cases {
            assert_eq!(parse(typed), Ok(Command::Set(wanted.to_string())), "{typed}");
        }
        assert_eq!(parse("system"), Ok(Command::System(None)));
        assert_eq!(parse("system Be  brief."), Ok(Command::System(Some("Be  brief."))));
        assert_eq!(parse("verbose "), Ok(Command::Verbose(true)));
        assert_eq!(parse("quiet"), Ok(Command::Verbose(false)));
        assert_eq!(parse("quiet 1"), Err("/set quiet takes no value, found \"1\"".to_string()));
        assert_eq!(parse("parameter"), Err("/set parameter needs NAME VALUE".to_string()));
        for (name, option) in
            [("num_ctx", "--ctx"), ("ctx-size", "--ctx-size"), ("use_mmap", "--mmap"), ("isa", "--isa")]
        {
            let fixed = format!("{name} is fixed during a conversation; {option} sets it when the program starts");
            assert_eq!(parse(&format!("parameter {name} 4")), Err(fixed));
        }
    }
}
