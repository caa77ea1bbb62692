//! A measurement on the machine with the card: the sections one after the other, each in a process of its own with a deadline.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bundle::{CARD, INKSTONE, XTASK};
use super::results::{self, Line, Results, Run};
use super::sections::{MODELS, Program, SECTIONS, Section, TOTAL_SECONDS};
use super::watch;
use crate::error::Error;

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
    let results = Results::create(&path)?;
    let mut session = Session { programs, folder, tiny, begun: Instant::now(), results };
    let variants = session.variants()?;
    let models: Vec<Option<String>> = SECTIONS.iter().map(|section| section.model_name(tiny)).collect();
    let mut runs = Vec::new();
    for (section, model) in SECTIONS.iter().zip(&models) {
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
        let ended = watch::run(command, deadline, &log, |text| {
            let line = match section.program {
                Program::Card => serde_json::from_str(text).map_err(|error| format!("{error}: {text}")),
                Program::Bench => of_bench(text, run),
                Program::Synth => return Ok(()),
            };
            results.add(&line?).or_else(|error| {
                let reason = error.to_string();
                unwritten = Err(error);
                Err(reason)
            })
        });
        unwritten?;
        let failure = ended.err();
        if let Some(reason) = &failure {
            eprintln!("        {reason}");
        }
        self.results.add(&Line::end(run, begun.elapsed().as_secs_f64(), failure))
    }

    fn command(&self, section: &Section, run: &Run) -> Command {
        let model = run.model.map(|name| self.model(name));
        let [size, prompt, text, depths] =
            if self.tiny { ["--tiny", "16", "8", "0,64"] } else { ["", "512", "128", "0,4096"] };
        let isa = run.isa.into_iter().flat_map(|isa| ["--isa", isa]);
        match section.program {
            Program::Card => {
                let mut command = self.program(CARD);
                command.arg(section.name).args(isa).args(model).args(Some(size).filter(|size| !size.is_empty()));
                command
            }
            Program::Bench => {
                let mut command = self.program(INKSTONE);
                command.args([
                    "bench", "--engine", "wgpu", "-o", "jsonl", "-r", "2", "-p", prompt, "-n", text, "-d", depths,
                ]);
                command.args(isa).args(model);
                command
            }
            Program::Synth => {
                let (shape, file_type) = MODELS[section.model.unwrap_or(0)][usize::from(self.tiny)];
                let mut command = self.program(XTASK);
                command.args(["synth", shape, file_type, "-o"]).args(model);
                command
            }
        }
    }

    /// Removes the files of models: there is room for one.
    fn remove_models(&self) {
        for model in SECTIONS.iter().filter_map(|section| section.model_name(self.tiny)) {
            for end in ["gguf", "gguf.part"] {
                // Most of them are not there.
                let _ = fs::remove_file(self.folder.join(format!("{model}.{end}")));
            }
        }
    }
}

/// A row of `inkstone bench` as a figure.
fn of_bench(text: &str, run: &Run) -> Result<Line, String> {
    let row: Value = serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))?;
    let number = |field: &str| row[field].as_f64().ok_or_else(|| format!("no {field} in {text}"));
    let (prompt, depth) = (number("n_prompt")?, number("n_depth")?);
    let mut fields = vec![("isa", json!(run.isa)), ("model", json!(run.model)), ("depth", json!(depth))];
    let name = if prompt > 0.0 {
        fields.push(("prompt", json!(prompt)));
        "models.prefill"
    } else {
        fields.push(("token_bytes", json!(number("token_bytes")?)));
        "models.decode"
    };
    Ok(Line::new(name, number("median_ts")?, "tokens/s", &fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Run = Run { section: "models", isa: Some("core"), model: Some("m") };

    #[test]
    fn rows_of_bench_are_figures() {
        let row = |prompt: u32| format!(r#"{{"n_prompt":{prompt},"n_depth":64,"median_ts":12.5,"token_bytes":100}}"#);
        let decode = of_bench(&row(0), &RUN).unwrap();
        assert!(decode.is("models.decode") && decode.value == Some(12.5), "{decode:?}");
        assert_eq!((decode.number("token_bytes"), decode.number("depth")), (Some(100.0), Some(64.0)));
        assert!(of_bench(&row(512), &RUN).unwrap().is("models.prefill"));
        assert!(of_bench("{}", &RUN).unwrap_err().starts_with("no n_prompt"));
        assert!(of_bench("loaded", &RUN).is_err());
    }

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
