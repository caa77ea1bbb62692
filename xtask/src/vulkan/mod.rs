//! `cargo xtask vulkan`: runs a program with a Vulkan driver that computes on the CPU, for tests on machines without a GPU. The
//! drivers are in the target folder; the system is not changed.

mod drivers;
mod setup;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::error::Error;
use crate::workspace::Workspace;
use drivers::{DRIVERS, Driver};

/// The variables for a program that is to use only this driver.
pub fn environment(
    workspace: &Workspace,
    name: &str,
    width: Option<&str>,
) -> Result<Vec<(&'static str, String)>, Error> {
    let driver = DRIVERS.iter().find(|driver| driver.name == name);
    let driver = driver.ok_or_else(|| Error::Usage { message: format!("vulkan has no driver {name}") })?;
    driver.environment(&workspace.target().join("tools/vulkan"), width)
}

/// The Vulkan loader, which finds the drivers of a machine.
pub fn loader(workspace: &Workspace) -> Result<PathBuf, Error> {
    let folder = workspace.target().join("tools/vulkan");
    drivers::loader(&folder).ok_or_else(|| Error::Peer {
        name: "libvulkan.so.1".to_owned(),
        what: format!("it is not in {}: run `cargo xtask vulkan --setup`", folder.display()),
    })
}

pub fn run(arguments: &[String]) -> Result<ExitCode, Error> {
    let folder = Workspace::load()?.target().join("tools/vulkan");
    match Request::parse(arguments)? {
        Request::Setup => {
            setup::setup(&folder)?;
            Ok(ExitCode::SUCCESS)
        }
        Request::Environment(driver, width) => {
            driver.environment(&folder, width)?.iter().for_each(|(name, value)| println!("{name}={value}"));
            Ok(ExitCode::SUCCESS)
        }
        Request::Run(driver, width, program) => {
            let mut command = Command::new(&program[0]);
            command.args(&program[1..]).envs(driver.environment(&folder, width)?);
            let status = command.status().map_err(|source| Error::Start { program: program.join(" "), source })?;
            Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
        }
    }
}

/// Bits of the vectors of lavapipe, which has a subgroup of 4, 8 or 16 with them.
const WIDTHS: &[&str] = &["128", "256", "512"];

#[derive(Debug, PartialEq)]
enum Request<'a> {
    Setup,
    /// Prints the variables with which a program finds the driver.
    Environment(&'static Driver, Option<&'a str>),
    Run(&'static Driver, Option<&'a str>, &'a [String]),
}

impl<'a> Request<'a> {
    fn parse(arguments: &'a [String]) -> Result<Request<'a>, Error> {
        let names: Vec<&str> = DRIVERS.iter().map(|driver| driver.name).collect();
        let usage = |problem: &str| {
            let message = format!(
                "vulkan {problem}; allowed: --setup, or {} [--width {}] [--env | -- COMMAND]",
                names.join("|"),
                WIDTHS.join("|")
            );
            Error::Usage { message }
        };
        let mut rest = arguments;
        let mut next = || {
            let (first, others) = rest.split_first()?;
            rest = others;
            Some(first.as_str())
        };
        let name = match next() {
            Some("--setup") if arguments.len() == 1 => return Ok(Request::Setup),
            Some(name) => name,
            None => return Err(usage("needs a driver")),
        };
        let driver = DRIVERS.iter().find(|driver| driver.name == name);
        let driver = driver.ok_or_else(|| usage(&format!("has no driver {name}")))?;
        let mut width = None;
        loop {
            match next() {
                Some("--width") => {
                    let bits = next().filter(|bits| WIDTHS.contains(bits) && driver.has_widths);
                    width = Some(bits.ok_or_else(|| usage(&format!("{name} has no such width")))?);
                }
                Some("--env") if rest.is_empty() => return Ok(Request::Environment(driver, width)),
                Some("--") if !rest.is_empty() => return Ok(Request::Run(driver, width, rest)),
                Some(other) => return Err(usage(&format!("{name} takes no {other} here"))),
                None => return Err(usage(&format!("{name} needs --env or a command"))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn requests_are_read() {
        let parse = |line: &str| format!("{:?}", Request::parse(&words(line)).unwrap());
        assert_eq!(parse("--setup"), "Setup");
        assert!(parse("swiftshader --env").starts_with("Environment(Driver { name: \"swiftshader\""));
        let run = parse("lavapipe --width 256 -- cargo test --workspace");
        assert!(run.ends_with(r#"Some("256"), ["cargo", "test", "--workspace"])"#), "{run}");
    }

    #[test]
    fn wrong_requests_name_what_is_allowed() {
        for line in [
            "",
            "radv --env",
            "lavapipe",
            "lavapipe --",
            "lavapipe --width 64 --env",
            "swiftshader --width 128 --env",
            "--setup now",
            "lavapipe --env now",
        ] {
            let error = Request::parse(&words(line)).unwrap_err().to_string();
            assert!(error.contains("lavapipe|swiftshader [--width 128|256|512]"), "{line}: {error}");
        }
    }
}
