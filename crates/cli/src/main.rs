//! The `inkstone` program: arguments, terminal, signals. What it shows and writes comes from the `inkstone` library.
//!
//! Standard output carries the result and nothing else. Exit codes: 0; 1 an input or the machine is at fault; 2 the
//! command line is; 130 ended by Ctrl-C; 143 by SIGTERM.

mod allocator;
mod args;
mod commands;
mod error;
mod fault;
mod input;
mod models;
mod npy;
mod output;
mod signals;
mod terminal;
mod termination;

use args::{Arguments, Command};
use error::Error;
use signals::Signals;
use std::process::ExitCode;

fn main() -> ExitCode {
    fault::install();
    // A bug must still end as one line and a documented code.
    std::panic::set_hook(Box::new(|panic| terminal::error(&format!("a bug in inkstone: {panic}"))));
    ExitCode::from(std::panic::catch_unwind(program).unwrap_or(error::INPUT))
}

fn program() -> u8 {
    let arguments = match Arguments::from_command_line() {
        Ok(arguments) => arguments,
        Err(ended) => return ended,
    };
    let result = Signals::install().and_then(|signals| match arguments.command {
        Command::Run(args) => commands::run::run(&args, &signals),
        Command::Complete(args) => commands::complete::complete(&args, &signals),
        Command::Chat(args) => commands::chat::chat(&args, &signals),
        Command::Template(args) => commands::template::template(&args, &signals),
        Command::List(args) => commands::list::list(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Explain(args) => commands::explain::explain(&args, &signals),
        Command::Bench(args) => commands::bench::bench(&args, &signals),
        Command::Tokenize(args) => commands::tokenize::tokenize(&args),
        Command::Logits(args) => commands::logits::logits(&args, &signals),
        Command::Completions(args) => commands::completions::completions(&args),
    });
    match result {
        Ok(()) => error::SUCCESS,
        Err(error) => {
            if !error.is_quiet() {
                error.tell();
            }
            error.exit_code()
        }
    }
}
