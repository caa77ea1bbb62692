//! Environment variables: each model and sampling option has a variable named `INKSTONE_` and its long name.

use super::{MODEL_OPTIONS, SAMPLING_OPTIONS, report};
use clap::{Arg, Command};

const PREFIX: &str = "INKSTONE_";

/// The variable of a long option: `INKSTONE_KV_TYPE` for `kv-type`.
pub(super) fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.to_ascii_uppercase().replace('-', "_"))
}

/// The command whose subcommands read the values of missing options from their variables.
pub(super) fn with_variables(command: Command) -> Command {
    command.mut_subcommands(|subcommand| subcommand.mut_args(with_variable))
}

/// The message for an error in the value of a variable, which contains the name of the variable instead of the option.
pub(super) fn line(error: &clap::Error) -> String {
    let line = report::line(error, &Command::new(""));
    match line.strip_prefix("--").and_then(|line| line.split_once(' ')) {
        Some((long, rest)) => format!("{} {rest}", variable(long)),
        // For bytes that are not text, clap does not report the option.
        None => std::env::vars_os()
            .filter(|(name, value)| name.to_string_lossy().starts_with(PREFIX) && value.to_str().is_none())
            .map(|(name, value)| format!("{} {value:?}: allowed: UTF-8", name.to_string_lossy()))
            .next()
            .unwrap_or(line),
    }
}

fn with_variable(argument: Arg) -> Arg {
    let is_meant = argument.get_help_heading().is_some_and(|h| [MODEL_OPTIONS, SAMPLING_OPTIONS].contains(&h));
    let Some(name) = argument.get_long().filter(|_| is_meant).map(variable) else { return argument };
    // An empty variable counts as unset.
    if std::env::var_os(&name).is_some_and(|value| value.is_empty()) {
        return argument;
    }
    // The definition of a command lives as long as the program.
    argument.env(&*name.leak()).hide_env_values(true)
}
