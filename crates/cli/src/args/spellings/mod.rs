//! Translates the options of other programs before clap parses the arguments: clap would parse `-ngl` as `-n gl`.
//!
//! Options that the command itself has are not changed, nor are the values of options and the arguments after `--`.

mod table;
#[cfg(test)]
mod tests;

use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::slice::Iter;
use table::{COMMANDS, TABLE};

/// Options that mean the same.
struct Row {
    /// Their names, with spaces between.
    names: &'static str,
    value: Value,
    meaning: Meaning,
    /// The value that switches a missing feature off. With this value the option is not needed.
    off: Option<&'static str>,
    /// The commands that the row applies to; an empty list stands for all.
    commands: &'static [&'static str],
}

/// The values that follow an option.
#[derive(Clone, Copy)]
enum Value {
    Switch,
    One,
    Pair,
    /// One of these words, or no value.
    Word(&'static [&'static str]),
}

/// The translation of an option.
enum Meaning {
    /// The option is an alias of this option.
    Is(&'static str),
    /// The option is an alias of this option, except for this difference.
    Like(&'static str, &'static str),
    /// The value is a JSON object of variables of the chat template.
    Variables,
    /// The option is ignored, for this reason.
    NotNeeded(&'static str),
    /// The option needs this feature, which is not supported yet.
    NotYet(&'static str),
    /// The option is not supported; this is the alternative.
    Instead(&'static str),
}

/// The translated arguments, with notes about ignored options.
#[derive(Debug, Default)]
pub(super) struct Understood {
    pub(super) arguments: Vec<OsString>,
    pub(super) notes: Vec<String>,
}

/// Translates the arguments of a process, or returns the error line. `program` is the built definition.
pub(super) fn understand(program: &Command, arguments: &[OsString]) -> Result<Understood, String> {
    let mut understood = Understood::default();
    let (head, tail) = arguments.split_at(arguments.len().min(2));
    understood.arguments.extend_from_slice(head);
    let name = head.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    match program.find_subcommand(name) {
        Some(command) => understood.translate(command, tail)?,
        None if Path::new(name).exists() => understood.arguments.extend_from_slice(tail),
        None => {
            if let Some((_, why)) = COMMANDS.iter().find(|(foreign, _)| *foreign == name) {
                return Err(format!("{name} is not a command of inkstone: {why}"));
            }
            understood.arguments.extend_from_slice(tail);
        }
    }
    Ok(understood)
}

impl Understood {
    fn translate(&mut self, command: &Command, arguments: &[OsString]) -> Result<(), String> {
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.to_str().filter(|text| text.starts_with('-')).unwrap_or_default();
            let (typed, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            // llama.cpp takes --n_predict for --n-predict.
            let dashed = typed.replace('_', "-");
            let name = if typed.starts_with("--") { &dashed } else { typed };
            if let Some(own) = own(command, name) {
                self.arguments.push(text.replacen(typed, name, 1).into());
                let value = if value.is_none() { value_of(own, &mut rest) } else { None };
                self.arguments.extend(value);
            } else if let Some(row) = row(command, name) {
                let values = match value {
                    Some(value) => vec![value.into()],
                    None => row.value.of(&mut rest),
                };
                self.apply(command, name, row, values)?;
            } else {
                self.arguments.push(argument.clone());
                let value = last_of_cluster(command, name).and_then(|own| value_of(own, &mut rest));
                self.arguments.extend(value);
                if argument == "--" {
                    self.arguments.extend(rest.by_ref().cloned());
                }
            }
        }
        Ok(())
    }

    /// Applies the translation of an option that the command itself does not have.
    fn apply(&mut self, command: &Command, name: &str, row: &Row, values: Vec<OsString>) -> Result<(), String> {
        match row.meaning {
            Meaning::Is(ours) | Meaning::Like(ours, _) => {
                let own = own(command, ours).ok_or_else(|| lacks(command, name, ours))?;
                let mut argument = OsString::from(ours);
                if let Some(value) = values.first().filter(|_| own.get_action().takes_values()) {
                    argument.push("=");
                    argument.push(value);
                }
                // Two spellings of one option may agree: -ctk f16 -ctv f16.
                if !matches!(own.get_action(), ArgAction::Set) || !self.arguments.contains(&argument) {
                    self.arguments.push(argument);
                }
                if let Meaning::Like(_, difference) = row.meaning {
                    self.note(format!("note: {name} is {ours}: {difference}"));
                }
            }
            Meaning::Variables => {
                let ours = "--template-var";
                own(command, ours).ok_or_else(|| lacks(command, name, ours))?;
                let text = values.first().and_then(|value| value.to_str()).unwrap_or_default();
                let variables: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_str(text).map_err(|e| {
                        format!("{name} {text:?}: allowed: a JSON object, such as {{\"enable_thinking\": false}}; {e}")
                    })?;
                self.arguments.extend(variables.iter().map(|(key, value)| format!("{ours}={key}={value}").into()));
            }
            Meaning::NotNeeded(why) => self.note(format!("note: {name} is not needed: {why}")),
            Meaning::NotYet(what) if row.is_off(&values) => {
                let value = row.off.filter(|value| !value.is_empty()).unwrap_or("\"\"");
                self.note(format!("note: {name} {value} is not needed: it means no {what}"));
            }
            Meaning::NotYet(what) => return Err(format!("{name} is not supported yet: {what}")),
            Meaning::Instead(how) => return Err(format!("{name} is not supported: {how}")),
        }
        Ok(())
    }

    /// Adds a note, unless it is known.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

impl Row {
    /// Whether the values switch the feature off. Numbers are compared as numbers: 0.0 is 0.
    fn is_off(&self, values: &[OsString]) -> bool {
        let ([value], Some(off)) = (values, self.off) else { return false };
        let number = |text: &str| text.parse::<f64>().ok();
        value.to_str().is_some_and(|value| value == off || number(off).is_some_and(|off| number(value) == Some(off)))
    }
}

impl Value {
    /// The arguments that belong to the option before them.
    fn of(self, rest: &mut Iter<OsString>) -> Vec<OsString> {
        let next = rest.as_slice().first();
        let values = match self {
            Value::Switch => 0,
            Value::One => 1,
            Value::Pair => 2,
            Value::Word(words) => usize::from(next.is_some_and(|next| words.iter().any(|word| next == word))),
        };
        let values = if next.is_some_and(|next| next == "--") { 0 } else { values };
        rest.by_ref().take(values).cloned().collect()
    }
}

/// The row of a name, for a command.
fn row(command: &Command, name: &str) -> Option<&'static Row> {
    let holds = |row: &&Row| row.commands.is_empty() || row.commands.contains(&command.get_name());
    TABLE.iter().filter(holds).find(|row| row.names.split(' ').any(|known| known == name))
}

/// The option of a command with this long name or letter.
pub(super) fn own<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let mut letters = name.strip_prefix('-')?.chars();
    match (name.strip_prefix("--"), letters.next(), letters.next()) {
        (Some(long), ..) => command
            .get_arguments()
            .find(|a| a.get_long() == Some(long) || a.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))),
        (None, Some(letter), None) => of_letter(command, letter),
        _ => None,
    }
}

fn of_letter(command: &Command, letter: char) -> Option<&Arg> {
    command.get_arguments().find(|a| a.get_short() == Some(letter))
}

/// For several letters in one argument (`-vn`): the option whose value is the next argument, if it takes one.
fn last_of_cluster<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let mut letters = name.strip_prefix('-')?.chars();
    let own = letters.find_map(|letter| match of_letter(command, letter) {
        Some(own) if !own.get_action().takes_values() => None,
        ended => Some(ended),
    });
    own.flatten().filter(|_| letters.as_str().is_empty())
}

/// The argument that clap uses as the value of an option.
fn value_of(own: &Arg, rest: &mut Iter<OsString>) -> Option<OsString> {
    let next = rest.as_slice().first()?;
    let is_value = |next: &OsStr| match next.to_str().and_then(|text| text.strip_prefix('-')) {
        Some(number) if own.is_allow_negative_numbers_set() && number.parse::<f64>().is_ok() => true,
        Some("") | None => true,
        Some(_) => own.is_allow_hyphen_values_set(),
    };
    let takes_next = own.get_action().takes_values() && !own.is_require_equals_set() && is_value(next);
    if takes_next { rest.next().cloned() } else { None }
}

/// The error for an option that the command does not have.
fn lacks(command: &Command, name: &str, ours: &str) -> String {
    let command = command.get_name();
    if name == ours {
        format!("{command} does not take {name}")
    } else {
        format!("{name} is {ours}, which {command} does not take")
    }
}
