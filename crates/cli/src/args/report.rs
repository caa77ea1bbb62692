//! One-line errors about the command line.

use super::suggest;
use crate::{error, output, terminal};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// Prints help, version or the line of the error. Returns the exit code.
pub(super) fn report(error: &clap::Error, line: &str) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let shown = output::print(error.render().to_string().as_bytes()).map_err(error::Error::from);
            match shown {
                Ok(()) => error::SUCCESS,
                Err(e) => {
                    if !e.is_quiet() {
                        terminal::error(&e.to_string());
                    }
                    e.exit_code()
                }
            }
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint_help(error);
            error::USAGE
        }
        _ => refused(line),
    }
}

/// Prints an error in the command line. Returns the exit code.
pub(super) fn refused(line: &str) -> u8 {
    terminal::error(line);
    error::USAGE
}

fn eprint_help(error: &clap::Error) {
    use std::io::Write;
    let _ = write!(std::io::stderr().lock(), "{}", error.render());
}

/// The message of an error: the argument, its value and the allowed values. `command` is the definition of the command.
pub(super) fn line(error: &clap::Error, command: &clap::Command) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(list)) => list.join(", "),
        _ => String::new(),
    };
    // Reduces "--top-p <P>" and "--mmap[=<BOOL>]" to the name of the option.
    let argument = text(ContextKind::InvalidArg);
    let name = argument.split_once([' ', '[']).map_or("", |(name, _)| name);
    let name = if name.starts_with("--") { name } else { argument.as_str() };
    let value = text(ContextKind::InvalidValue);
    let did_you_mean = |similar: Option<String>, otherwise: &str| match similar {
        Some(name) => format!("did you mean {name}?"),
        None => otherwise.to_string(),
    };
    match error.kind() {
        ErrorKind::ValueValidation => {
            let reason = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{name} {value:?}: {reason}")
        }
        ErrorKind::InvalidValue if value.is_empty() && text(ContextKind::ValidValue).is_empty() => {
            format!("{name} needs a value")
        }
        ErrorKind::InvalidValue => format!("{name} {value:?}: allowed: {}", text(ContextKind::ValidValue)),
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            format!("unknown option {name}; {}", did_you_mean(similar_option(name, command), "see --help"))
        }
        ErrorKind::UnknownArgument => format!("one argument too many: {argument:?}; see --help"),
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand);
            let all: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            let similar = suggest::closest(&name, all.iter().copied()).map(str::to_string);
            let commands = format!("commands: {}", all.join(", "));
            format!("unknown command {name:?}; {}", did_you_mean(similar, &commands))
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {argument}; see --help"),
        ErrorKind::ArgumentConflict if text(ContextKind::PriorArg) == argument => format!("{name} is given twice"),
        ErrorKind::ArgumentConflict => format!("{argument} does not go with {}", text(ContextKind::PriorArg)),
        // "[MODEL] [MESSAGE]..."
        ErrorKind::TooManyValues if name.starts_with('[') => {
            format!("one argument too many: {value:?}; a text with spaces needs quotes")
        }
        ErrorKind::TooManyValues => format!("{name} takes no value, found {value:?}"),
        _ => {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            first.strip_prefix("error: ").unwrap_or(first).to_string()
        }
    }
}

/// The option of a command with a similar name.
fn similar_option(name: &str, command: &clap::Command) -> Option<String> {
    let long = name.strip_prefix("--")?;
    let aliases = command.get_arguments().flat_map(|a| a.get_visible_aliases().unwrap_or_default());
    let names = command.get_arguments().filter_map(clap::Arg::get_long).chain(aliases);
    suggest::closest(long, names).map(|similar| format!("--{similar}"))
}
