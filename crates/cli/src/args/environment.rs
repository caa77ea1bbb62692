//! Variables of the environment: each model and sampling option has one, `INKSTONE_` with its long name.

use super::{MODEL_OPTIONS, SAMPLING_OPTIONS, report};
use clap::{Arg, Command};

const PREFIX: &str = "INKSTONE_";

/// The variable of a long option: `INKSTONE_KV_TYPE` of `kv-type`.
pub(super) fn variable(long: &str) -> String {
    format!("{PREFIX}{}", long.to_ascii_uppercase().replace('-', "_"))
}

/// The command, whose subcommands take the values of options that are not given from their variables.
pub(super) fn with_variables(command: Command) -> Command {
    command.mut_subcommands(|subcommand| subcommand.mut_args(with_variable))
}

/// What is said of an error that comes from a variable: its name in place of the option's.
pub(super) fn line(error: &clap::Error) -> String {
    let line = report::line(error, &Command::new(""));
    match line.strip_prefix("--").and_then(|line| line.split_once(' ')) {
        Some((long, rest)) => format!("{} {rest}", variable(long)),
        // Only of bytes that are not text clap does not say where.
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
