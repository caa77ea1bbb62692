//! Commands within a conversation: lines that begin with a slash.

/// A line of a conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command<'l> {
    Help,
    Reset,
    System(Option<&'l str>),
    Set(&'l str),
    Save(&'l str),
    Load(&'l str),
    Undo,
    Quit,
    /// A message.
    Say(&'l str),
    /// A line whose first word begins with a slash and is no command: this word.
    Unknown(&'l str),
}

/// What `/help` says.
pub(super) const HELP: &[&str] = &[
    "/reset             forgets the conversation",
    "/system [TEXT]     what the model shall keep to; without TEXT nothing",
    "/set NAME VALUE    an option as on the command line: /set temperature 0.5",
    "/save FILE         writes the conversation as JSON",
    "/load FILE         goes on from such a file",
    "/undo              takes the last message and its answer back",
    "/quit              ends, as Ctrl-D does",
    "//...              a message that begins with a slash",
    "/think, /no_think  begin a message, for models that think unless told otherwise",
    "Ctrl-C ends an answer; what was said of it is kept.",
];

/// Words that are no commands but belong to the message that they begin: Qwen3's switches.
const SWITCHES: [&str; 2] = ["think", "no_think"];

const NAMES: &str = "/help, /reset, /system, /set, /save, /load, /undo, /quit";

impl<'l> Command<'l> {
    /// What a line means.
    pub(super) fn of(line: &'l str) -> Result<Command<'l>, String> {
        let Some(rest) = line.strip_prefix('/') else { return Ok(Command::Say(line)) };
        if rest.starts_with('/') {
            return Ok(Command::Say(rest));
        }
        let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let argument = argument.trim();
        let needed = |what: &str| {
            if argument.is_empty() { Err(format!("/{name} needs {what}")) } else { Ok(argument) }
        };
        let alone = |command| {
            if argument.is_empty() { Ok(command) } else { Err(format!("/{name} takes nothing, found {argument:?}")) }
        };
        match name {
            "help" => alone(Command::Help),
            "reset" => alone(Command::Reset),
            "system" => Ok(Command::System((!argument.is_empty()).then_some(argument))),
            "set" => needed("a name and a value").map(Command::Set),
            "save" => needed("a file").map(Command::Save),
            "load" => needed("a file").map(Command::Load),
            "undo" => alone(Command::Undo),
            "quit" => alone(Command::Quit),
            _ if SWITCHES.contains(&name) => Ok(Command::Say(line)),
            _ => Ok(Command::Unknown(&line[..line.len() - rest.len() + name.len()])),
        }
    }

    /// What is said of a word that is no command.
    pub(super) fn unknown(word: &str) -> String {
        format!("unknown command \"{word}\"; commands: {NAMES}; a message that begins with / is //...")
    }
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
            ("/system  Be brief. ", Command::System(Some("Be brief."))),
            ("/system", Command::System(None)),
            ("/set temperature 0", Command::Set("temperature 0")),
            ("/save a b.json", Command::Save("a b.json")),
            ("/quit", Command::Quit),
            ("/no_think", Command::Say("/no_think")),
            ("/think about it", Command::Say("/think about it")),
            ("/thinking", Command::Unknown("/thinking")),
            ("/usr/bin is a folder", Command::Unknown("/usr/bin")),
            ("/ x", Command::Unknown("/")),
        ];
        for (line, wanted) in cases {
            assert_eq!(Command::of(line), Ok(wanted), "{line}");
        }
        assert_eq!(Command::of("/save"), Err("/save needs a file".to_string()));
        assert_eq!(Command::of("/undo 2"), Err("/undo takes nothing, found \"2\"".to_string()));
        assert!(Command::unknown("/exit").starts_with("unknown command \"/exit\"; commands: /help, "));
    }

    #[test]
    fn help_has_every_command() {
        for name in NAMES.split(", ").filter(|name| *name != "/help") {
            assert!(HELP.iter().any(|line| line.starts_with(name)), "{name}");
        }
    }
}
