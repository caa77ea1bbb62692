//! Commands within a conversation: lines that begin with a slash.

use super::quoted::unquoted;
use super::set;

/// A line of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'l> {
    Help,
    Reset,
    Regenerate,
    Undo,
    System(Option<&'l str>),
    /// A change of an option: its name on the command line without dashes, then its value, as in `temperature 0.5`.
    Set(String),
    /// Whether lines with counts and times follow each answer.
    Verbose(bool),
    Show,
    Save(&'l str),
    Load(&'l str),
    Quit,
    /// A message.
    Say(&'l str),
    /// The first word of a line that begins with a slash but is not a command.
    Unknown(&'l str),
}

/// A row of the table of commands.
struct Entry {
    /// The names without the slash; errors list the first.
    names: &'static [&'static str],
    argument: Argument,
    help: &'static str,
    /// The command with its argument, without spaces around it.
    command: for<'l> fn(&'l str) -> Result<Command<'l>, String>,
}

/// The argument after the name.
enum Argument {
    None,
    Optional(&'static str),
    Needed(&'static str),
}

use Argument::{Needed, None as Nothing, Optional};

const COMMANDS: &[Entry] = &[
    Entry { names: &["help", "?"], argument: Nothing, help: "lists the commands", command: |_| Ok(Command::Help) },
    Entry {
        names: &["reset", "clear"],
        argument: Nothing,
        help: "forgets the conversation",
        command: |_| Ok(Command::Reset),
    },
    Entry {
        names: &["regen"],
        argument: Nothing,
        help: "answers the last message again",
        command: |_| Ok(Command::Regenerate),
    },
    Entry {
        names: &["undo"],
        argument: Nothing,
        help: "removes the last message and its answer",
        command: |_| Ok(Command::Undo),
    },
    Entry {
        names: &["system"],
        argument: Optional("TEXT"),
        help: "sets the system message; without TEXT removes it",
        command: |text| Ok(Command::system(text)),
    },
    Entry {
        names: &["set"],
        argument: Needed("NAME VALUE"),
        help: "sets an option of the command line: /set temperature 0.5",
        command: set::parse,
    },
    Entry {
        names: &["show"],
        argument: Nothing,
        help: "shows the model, the options and the size of the conversation",
        command: |_| Ok(Command::Show),
    },
    Entry {
        names: &["save"],
        argument: Needed("FILE"),
        help: "writes the conversation to a file as JSON",
        command: |file| Ok(Command::Save(file)),
    },
    Entry {
        names: &["load"],
        argument: Needed("FILE"),
        help: "continues the conversation in a saved file",
        command: |file| Ok(Command::Load(file)),
    },
    Entry {
        names: &["quit", "bye", "exit"],
        argument: Nothing,
        help: "ends the program, like Ctrl-D",
        command: |_| Ok(Command::Quit),
    },
];

/// More lines of the help.
const MORE: &[(&str, &str)] = &[
    ("/set verbose|quiet", "shows or hides the number of tokens and the times after each answer"),
    ("\"\"\"", "begins a message of several lines, which ends with \"\"\""),
    ("//...", "a message that begins with a slash"),
    ("/think, /no_think", "begin a message, for models that have a switch for thinking"),
    ("Ctrl-C", "ends an answer, which keeps the text so far; clears a line; twice ends the program"),
];

/// Words that remain part of the message that they begin: the switches of Qwen3.
const SWITCHES: [&str; 2] = ["think", "no_think"];

impl<'l> Command<'l> {
    /// Parses a line.
    pub(super) fn of(line: &'l str) -> Result<Command<'l>, String> {
        if let Some(text) = unquoted(line) {
            return Ok(Command::Say(text));
        }
        let Some(rest) = line.strip_prefix('/') else { return Ok(Command::Say(line)) };
        if rest.starts_with('/') {
            return Ok(Command::Say(rest));
        }
        let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let argument = argument.trim();
        if SWITCHES.contains(&name) {
            return Ok(Command::Say(line));
        }
        let Some(entry) = COMMANDS.iter().find(|entry| entry.names.contains(&name)) else {
            return Ok(Command::Unknown(&line[..line.len() - rest.len() + name.len()]));
        };
        match entry.argument {
            Nothing if !argument.is_empty() => Err(format!("/{name} takes no argument, found {argument:?}")),
            Needed(what) if argument.is_empty() => Err(format!("/{name} needs {what}")),
            _ => (entry.command)(argument),
        }
    }

    /// The command that sets or removes the system message.
    pub(super) fn system(text: &'l str) -> Command<'l> {
        Command::System(Some(unquoted(text).unwrap_or(text)).filter(|text| !text.is_empty()))
    }

    /// The error for a word that is not a command.
    pub(super) fn unknown(word: &str) -> String {
        let names: Vec<String> = COMMANDS.iter().map(|entry| format!("/{}", entry.names[0])).collect();
        format!("unknown command \"{word}\"; commands: {}; a message that begins with / is //...", names.join(", "))
    }
}

/// The lines of `/help`.
pub(super) fn help() -> Vec<String> {
    let commands = COMMANDS.iter().map(|entry| {
        let names: Vec<String> = entry.names.iter().map(|name| format!("/{name}")).collect();
        let argument = match entry.argument {
            Nothing => String::new(),
            Optional(what) => format!(" [{what}]"),
            Needed(what) => format!(" {what}"),
        };
        (names.join(", ") + &argument, entry.help)
    });
    let lines: Vec<_> = commands.chain(MORE.iter().map(|(what, help)| ((*what).to_string(), *help))).collect();
    let width = lines.iter().map(|(what, _)| what.len()).max().unwrap_or(0);
    lines.iter().map(|(what, help)| format!("{what:width$}  {help}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_command_and_two_make_one_of_text() {
        let cases = [
            ("Hello /help", Command::Say("Hello /help")),
            ("//help", Command::Say("/help")),
            ("/help", Command::Help),
            ("/?", Command::Help),
            ("/clear", Command::Reset),
            ("/regen", Command::Regenerate),
            ("/show ", Command::Show),
            ("/system  Be brief. ", Command::System(Some("Be brief."))),
            ("/system", Command::System(None)),
            ("/system \"\"\"Be brief.\nBe kind.\"\"\"", Command::System(Some("Be brief.\nBe kind."))),
            ("/set temperature 0", Command::Set("temperature 0".to_string())),
            ("/set system Be brief.", Command::System(Some("Be brief."))),
            ("/set verbose", Command::Verbose(true)),
            ("/save a b.json", Command::Save("a b.json")),
            ("/quit", Command::Quit),
            ("/bye", Command::Quit),
            ("/exit", Command::Quit),
            ("/no_think", Command::Say("/no_think")),
            ("/think about it", Command::Say("/think about it")),
            ("/thinking", Command::Unknown("/thinking")),
            ("/usr/bin is a folder", Command::Unknown("/usr/bin")),
            ("/ x", Command::Unknown("/")),
            ("\"\"\"/help\n/quit\"\"\"", Command::Say("/help\n/quit")),
        ];
        for (line, wanted) in cases {
            assert_eq!(Command::of(line), Ok(wanted), "{line}");
        }
        assert_eq!(Command::of("/save"), Err("/save needs FILE".to_string()));
        assert_eq!(Command::of("/undo 2"), Err("/undo takes no argument, found \"2\"".to_string()));
        let unknown = Command::unknown("/leave");
        assert!(unknown.starts_with("unknown command \"/leave\"; commands: /help, /reset, "), "{unknown}");
    }

    #[test]
    fn names_are_unique_and_help_shows_them_in_a_column() {
        let names: Vec<&str> = COMMANDS.iter().flat_map(|entry| entry.names).copied().collect();
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name) && !SWITCHES.contains(name), "{name}");
        }
        let help = help();
        assert_eq!(help[0], format!("{:18}  lists the commands", "/help, /?"));
        assert_eq!(help[4], format!("{:18}  sets the system message; without TEXT removes it", "/system [TEXT]"));
        assert_eq!(help.len(), COMMANDS.len() + MORE.len());
        assert!(help.iter().all(|line| line.len() <= 110 && line.is_ascii()), "{help:?}");
        assert!(MORE[1].1.ends_with(MORE[1].0));
    }
}
