//! A measurement on the machine with the card: the sections one after the other, each in a process of its own with a deadline.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::TINY;
use super::bundle::{self, CARD, XTASK};
use super::results::{self, Line, Results, Run};
use super::sections::{self, Program, SECTIONS, Section, TOTAL_SECONDS};
use crate::error::Error;
use crate::watch;

/// The programs, and the files of a measurement.
struct Session<'a> {
    /// The folder of the programs.
    programs: PathBuf,
    /// The folder of results and of model files.
    folder: &'a Path,
    tiny: bool,
    begun: Instant,
    results: Results,
}

/// Runs all sections with the programs next to this one.
///
/// # Errors
/// Sections that failed or are missing, when all are done.
pub fn run(folder: &Path, tiny: bool) -> Result<(), Error> {
    let own = std::env::current_exe().map_err(|source| Error::File { path: XTASK.into(), source })?;
    fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
    let path = folder.join(results::NAME);
    let programs = own.parent().map(Path::to_owned).unwrap_or_default();
    let mut results = Results::create(&path)?;
    let commit = fs::read_to_string(programs.join(bundle::COMMIT)).unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    results.add(&Line::new("session.begun", now, "s since 1970", &[("commit", json!(commit))]))?;
    let mut session = Session { programs, folder, tiny, begun: Instant::now(), results };
    let variants = session.variants()?;
    let parts: Vec<&Section> = SECTIONS.iter().filter(|section| section.is_part(tiny)).collect();
    let models: Vec<Option<String>> = parts.iter().map(|section| section.model_of(tiny).map(sections::name)).collect();
    let mut runs = Vec::new();
    for (section, model) in parts.into_iter().zip(&models) {
        for isa in section.of(&variants) {
            let run = Run { section: section.name, isa, model: model.as_deref() };
            session.section(section, &run)?;
            runs.push(run);
        }
    }
    session.remove_models();
    eprintln!("{:.0} s; the results are in {}", session.begun.elapsed().as_secs_f64(), path.display());
    Error::from_faults(results::faults(&results::read(&path)?, &runs))
}

impl Session<'_> {
    fn program(&self, name: &str) -> Command {
        Command::new(self.programs.join(name))
    }

    /// The variants of kernels, the best one first.
    fn variants(&self) -> Result<Vec<String>, Error> {
        let mut command = self.program(CARD);
        command.arg("variants");
        let mut names = Vec::new();
        let listed = watch::run(command, Duration::from_secs(20), &self.log("variants"), |line| {
            names.push(line.to_owned());
            Ok(())
        });
        listed.map_err(|what| Error::Peer { name: CARD.to_owned(), what })?;
        Ok(names)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    fn model(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.gguf"))
    }

    /// Runs a section, and adds its figures and its end to the results.
    fn section(&mut self, section: &Section, run: &Run) -> Result<(), Error> {
        let words = [Some(run.section), run.isa, run.model];
        let label = words.into_iter().flatten().collect::<Vec<_>>().join("-");
        eprintln!("{:4.0} s: {label}", self.begun.elapsed().as_secs_f64());
        let left = Duration::from_secs(TOTAL_SECONDS).saturating_sub(self.begun.elapsed());
        let deadline = left.min(Duration::from_secs(section.seconds));
        if section.program == Program::Synth {
            self.remove_models();
        }
        let (command, log, begun) = (self.command(section, run), self.log(&label), Instant::now());
        let results = &mut self.results;
        let mut unwritten = Ok(());
        let told = |text: &str| {
            let line: Line = serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))?;
            results.add(&line).map_err(|error| {
                let reason = error.to_string();
                unwritten = Err(error);
                reason
            })
        };
        let no_time = || Err(format!("the others took all of the {TOTAL_SECONDS} s"));
        let ended = if left.is_zero() { no_time() } else { watch::run(command, deadline, &log, told) };
        unwritten?;
        let failure = ended.err();
        if let Some(reason) = &failure {
            eprintln!("        {reason}");
        }
        self.results.add(&Line::end(run, begun.elapsed().as_secs_f64(), failure))
    }

    fn command(&self, section: &Section, run: &Run) -> Command {
        let model = run.model.map(|name| self.model(name));
        let isa = run.isa.into_iter().flat_map(|isa| ["--isa", isa]);
        match section.program {
            Program::Card => {
                let mut command = self.program(CARD);
                command.arg(section.name).args(isa).args(self.tiny.then_some(TINY)).args(model);
                command
            }
            Program::Synth => {
                let mut command = self.program(XTASK);
                command.arg("synth").args(section.model_of(self.tiny).into_iter().flat_map(|(shape, of)| [shape, of]));
                command.arg("-o").args(model);
                command
            }
        }
    }

    /// Removes the files of models: there is room for one.
    fn remove_models(&self) {
        for model in SECTIONS.iter().filter_map(|section| section.model_of(self.tiny)) {
            let file = self.model(&sections::name(model));
            // Most of them are not there.
            let _ = fs::remove_file(file.with_added_extension("part"));
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card whose sections hang, fail and print what is no figure.
    #[cfg(unix)]
    #[test]
    fn a_section_that_hangs_fails_and_the_next_one_runs() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let card = folder.path().join(CARD);
        let figure = r#"{"name":"wgpu.ceiling.read","value":7,"unit":"GB/s"}"#;
        let script =
            format!("#!/bin/sh\ncase $1 in limits) exec sleep 100;; ceiling) echo '{figure}';; *) echo x;; esac\n");
        fs::write(&card, script).unwrap();
        fs::set_permissions(&card, fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join(results::NAME);
        let (results, begun) = (Results::create(&path).unwrap(), Instant::now());
        let programs = folder.path().to_owned();
        let mut session = Session { programs, folder: folder.path(), tiny: true, begun, results };
        for section in ["limits", "ceiling", "kernels"] {
            let found = SECTIONS.iter().find(|known| known.name == section).unwrap();
            let quick = Section { seconds: 1, ..*found };
            session.section(&quick, &Run { section, isa: None, model: None }).unwrap();
        }
        let lines = results::read(&path).unwrap();
        let names: Vec<&str> = lines.iter().map(|line| line.name.as_str()).collect();
        let wanted = ["wgpu.limits.failed", "wgpu.ceiling.read", "wgpu.ceiling.seconds", "wgpu.kernels.failed"];
        assert_eq!(names, wanted);
        assert_eq!(lines[0].text("reason"), Some("took more than 1.0 s"));
    }
}
