//! The stage that checks pages, with one case for each kind of check.

use super::context::Context;
use super::outcome::{Outcome, Verdict};
use crate::error::Error;
use crate::pages::{Pages, Script, program};

const LINKS: &str = "links";
const RUST: &str = "rust";
const SHELL: &str = "shell";

pub fn cases(_: &Context) -> Result<Vec<String>, Error> {
    Ok([LINKS, RUST, SHELL].map(str::to_owned).to_vec())
}

pub fn check(context: &Context, case: &str) -> Result<Outcome, Error> {
    let pages = Pages::read(context.workspace.root())?;
    match case {
        LINKS => pages.check_links().map(|()| Outcome::passed()),
        RUST => rust(context, &pages.of_users()),
        _ => shell(context, &pages.of_users()),
    }
}

fn rust(context: &Context, pages: &Pages) -> Result<Outcome, Error> {
    let folder = context.workspace.target().join("pages/rust");
    pages.write_crate(&context.workspace, &folder)?;
    let cargo = context.program("cargo check --offline --manifest-path").arg(folder.join("Cargo.toml"));
    // Dependencies that the workspace has built are used again.
    context.programs("pages rust", [cargo.arg("--target-dir").arg(context.workspace.target())])
}

fn shell(context: &Context, pages: &Pages) -> Result<Outcome, Error> {
    // The program that the tests have built: a build without them has other features, and compiles the engine again.
    let build = context.program("cargo test --workspace --all-features --no-run");
    let mut outcome = context.programs("pages shell build", [build])?;
    if outcome.verdict != Verdict::Passed {
        return Ok(outcome);
    }
    let folder = context.workspace.target().join("pages/shell");
    let mut path = context.workspace.target().join("debug").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut needs = Vec::new();
    for (place, script) in pages.write_scripts(&context.workspace, &folder)? {
        match script {
            Script::Needs(what) => needs.push(format!("{place} ({what})")),
            Script::Runs(commands) => {
                let run = context.programs(&format!("pages {place}"), [program(&commands, &folder, &path)])?;
                if let Verdict::Failed(why) = run.verdict {
                    outcome.verdict = Verdict::Failed(format!("{place}: {why}"));
                    return Ok(outcome);
                }
            }
        }
    }
    if !needs.is_empty() {
        outcome.notes.push(format!("shell blocks that need more than is here and were not run: {}", needs.join(", ")));
    }
    Ok(outcome)
}
