//! Measures the engine for GPUs on a card, one section per process: `card SECTION [--tiny] [--isa NAME] [MODEL.gguf]`. Each line
//! of the output is a JSON object with the name of a figure, its value and its unit. `cargo xtask gpu` runs all sections.

mod bits;
mod ceiling;
mod gpu;
mod host;
mod kernels;
mod limits;
mod models;

use inkstone::ModelOptions;
use inkstone::compute::EngineOptions;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// A section: its name and its function.
type Section = (&'static str, fn(&Options) -> Result<(), String>);

const SECTIONS: [Section; 7] = [
    ("variants", limits::variants),
    ("limits", limits::limits),
    ("ceiling", ceiling::ceiling),
    ("models", models::models),
    ("bits", bits::bits),
    ("host", host::host),
    ("kernels", kernels::kernels),
];

/// The options of a section.
#[derive(Default)]
struct Options {
    /// Whether shapes are small and times short: to see whether it works.
    tiny: bool,
    /// The variant of kernels.
    isa: Option<String>,
    /// The file of a model.
    model: Option<PathBuf>,
}

impl Options {
    fn engine(&self) -> EngineOptions {
        self.isa.iter().fold(EngineOptions::default(), |options, isa| options.isa(isa))
    }

    fn model(&self) -> Result<(&PathBuf, ModelOptions), String> {
        let file = self.model.as_ref().ok_or("the section needs the file of a model")?;
        let mut options = ModelOptions::default();
        options.isa.clone_from(&self.isa);
        Ok((file, options))
    }
}

fn main() -> ExitCode {
    let done = parse(std::env::args().skip(1)).and_then(|(section, options)| section.1(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("card: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<(&'static Section, Options), String> {
    let names = || SECTIONS.map(|(name, _)| name).join(", ");
    let name = arguments.next().ok_or_else(|| format!("needs a section: {}", names()))?;
    let section = SECTIONS.iter().find(|(known, _)| *known == name);
    let section = section.ok_or_else(|| format!("{name} is not a section; sections: {}", names()))?;
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tiny" => options.tiny = true,
            "--isa" => options.isa = Some(arguments.next().ok_or("--isa needs a name")?),
            _ => options.model = Some(argument.into()),
        }
    }
    Ok((section, options))
}

/// Prints a figure; `fields` tell of what it is.
fn figure(name: &str, value: f64, unit: &str, fields: Value) {
    let mut line = Map::new();
    line.insert("name".to_owned(), json!(format!("wgpu.{name}")));
    line.insert("value".to_owned(), json!(value));
    line.insert("unit".to_owned(), json!(unit));
    if let Value::Object(fields) = fields {
        line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    println!("{}", Value::Object(line));
}

/// Prints whether something is right: 1, or 0 with the fault.
fn verdict(name: &str, fault: Option<String>, mut fields: Value) {
    let value = if fault.is_none() { 1.0 } else { 0.0 };
    fields["fault"] = json!(fault);
    figure(name, value, "right", fields);
}
