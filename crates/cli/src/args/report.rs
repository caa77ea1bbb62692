//! What is wrong with a command line, in one line.

use crate::{error, output, terminal};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// Prints help, version or the error; gives the exit code.
pub(super) fn report(error: &clap::Error) -> u8 {
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
        _ => {
            terminal::error(&line(error));
            error::USAGE
        }
    }
}

fn eprint_help(error: &clap::Error) {
    use std::io::Write;
    let _ = write!(std::io::stderr().lock(), "{}", error.render());
}

/// The thing, the value, what is allowed.
pub(super) fn line(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(list)) => list.join(", "),
        _ => String::new(),
    };
    // "--top-p <P>" and "--max-tokens <N>" to the option's name.
    let argument = text(ContextKind::InvalidArg);
    let name = argument.split_once(" <").map_or(argument.as_str(), |(name, _)| name);
    let value = text(ContextKind::InvalidValue);
    let did_you_mean = |kind, otherwise: &str| match text(kind) {
        s if s.is_empty() => otherwise.to_string(),
        s => format!("did you mean {s}?"),
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
            format!("unknown option {name}; {}", did_you_mean(ContextKind::SuggestedArg, "see --help"))
        }
        ErrorKind::UnknownArgument => format!("one argument too many: {argument:?}; see --help"),
        ErrorKind::InvalidSubcommand => {
            let command = text(ContextKind::InvalidSubcommand);
            let commands = format!("commands: {}", commands());
            format!("unknown command {command:?}; {}", did_you_mean(ContextKind::SuggestedSubcommand, &commands))
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

fn commands() -> String {
    use clap::CommandFactory;
    let command = super::Arguments::command();
    command.get_subcommands().map(clap::Command::get_name).collect::<Vec<_>>().join(", ")
}
