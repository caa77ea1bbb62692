//! The `inkstone` program: arguments, terminal, signals. The `inkstone` library does all other work.
//!
//! Standard output carries only the result. Exit codes: 0 for success, 1 for an invalid input or an error of the
//! machine, 2 for an invalid command line, 130 after Ctrl-C, 143 after SIGTERM.

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
    // A bug must also end with one line and a documented code.
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
        Command::Batch(args) => commands::batch::batch(&args, &signals),
        Command::List(args) => commands::list::list(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
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
