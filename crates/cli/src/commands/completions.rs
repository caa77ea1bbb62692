//! `completions`: the completion script of a shell.

use crate::args::{Arguments, CompletionsArgs};
use crate::{Error, output};
use clap::CommandFactory;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "inkstone", &mut script);
    Ok(output::print(&script)?)
}
