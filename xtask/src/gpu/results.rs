//! The results: a file with a JSON object per line.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::sections::{SECTIONS, SYNTH};
use crate::error::Error;

/// The name of the file.
pub const NAME: &str = "results.jsonl";

/// The section of lines about the measurement itself.
pub const SESSION: &str = "session";

/// The unit of figures that are 1 if a result is right, and 0 if not.
const RIGHT: &str = "right";

/// A figure.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Line {
    /// `wgpu.SECTION.FIGURE`.
    pub name: String,
    /// `None` (`null`) if it is not finite.
    pub value: Option<f64>,
    pub unit: String,
    /// Of what it is: the variant of kernels, the model, the shapes.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// A run of a section: its name, its variant, its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<'a> {
    pub section: &'a str,
    pub isa: Option<&'a str>,
    pub model: Option<&'a str>,
}

impl Line {
    pub fn new(name: &str, value: f64, unit: &str, fields: &[(&str, Value)]) -> Self {
        let fields = fields.iter().filter(|(_, value)| !value.is_null());
        let fields = fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self {
            name: format!("wgpu.{name}"),
            value: Some(value).filter(|v| v.is_finite()),
            unit: unit.to_owned(),
            fields,
        }
    }

    /// The end of a section: its seconds, or why it failed.
    pub fn end(run: &Run, seconds: f64, failure: Option<String>) -> Self {
        let word = if failure.is_some() { "failed" } else { "seconds" };
        let fields = [("isa", json!(run.isa)), ("model", json!(run.model)), ("reason", json!(failure))];
        Self::new(&format!("{}.{word}", run.section), seconds, "s", &fields)
    }

    /// A field that is a text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// A field that is a number.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.fields.get(field)?.as_f64()
    }

    /// Whether it has this name, without `wgpu.`.
    pub fn is(&self, name: &str) -> bool {
        self.name.strip_prefix("wgpu.") == Some(name)
    }

    /// Whether it has the variant and the model of a run.
    fn is_of(&self, run: &Run) -> bool {
        (self.text("isa"), self.text("model")) == (run.isa, run.model)
    }

    /// The name of its section.
    fn section(&self) -> Option<&str> {
        self.name.strip_prefix("wgpu.")?.split_once('.').map(|(section, _)| section)
    }

    /// Whether it is the end of a section.
    fn is_end(&self) -> bool {
        [".seconds", ".failed"].iter().any(|end| self.name.ends_with(end))
    }

    /// Its fault, if it has one.
    fn fault(&self) -> Option<String> {
        let what = || serde_json::to_string(self).unwrap_or_else(|_| self.name.clone());
        let known =
            self.section().is_some_and(|name| name == SESSION || SECTIONS.iter().any(|section| section.name == name));
        match self.value {
            _ if !known => Some(format!("of no section: {}", what())),
            _ if self.name.ends_with(".failed") => Some(format!("failed: {}", what())),
            Some(value) if value.is_finite() && (self.unit != RIGHT || value == 1.0) => None,
            Some(value) if value.is_finite() => Some(format!("wrong: {}", what())),
            _ => Some(format!("has no finite value: {}", what())),
        }
    }
}

/// The file of results, to which lines are added.
pub struct Results(File);

impl Results {
    /// A new file.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let _ = fs::remove_file(path);
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map(Self).map_err(|source| Error::File { path: path.to_owned(), source })
    }

    /// Adds a line, which is in the file when this returns.
    pub fn add(&mut self, line: &Line) -> Result<(), Error> {
        let text = serde_json::to_string(line)? + "\n";
        self.0.write_all(text.as_bytes()).map_err(|source| Error::File { path: NAME.into(), source })
    }
}

/// The lines of a file.
pub fn read(path: &Path) -> Result<Vec<Line>, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    let parse = |(i, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| Error::Result { path: path.to_owned(), number: i + 1, error })
    };
    text.lines().enumerate().filter(|(_, line)| !line.is_empty()).map(parse).collect()
}

/// The faults of the results of these runs: sections that are missing, that failed or whose figures are wrong.
pub fn faults(lines: &[Line], runs: &[Run]) -> Vec<String> {
    let is_there = |run: &&Run| {
        let at = lines.iter().position(|line| line.is_end() && line.section() == Some(run.section) && line.is_of(run));
        let Some(end) = at else { return false };
        // The figures of a section stand before its end.
        let last = end.checked_sub(1).and_then(|i| lines.get(i));
        let figures = last.is_some_and(|line| line.section() == Some(run.section) && !line.is_end());
        figures || run.section == SYNTH || lines[end].name.ends_with(".failed")
    };
    let missing = runs.iter().filter(|run| !is_there(run));
    let missing = missing.map(|run| format!("missing: section {}, {:?}, {:?}", run.section, run.isa, run.model));
    missing.chain(lines.iter().filter_map(Line::fault)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        serde_json::from_str(text).unwrap()
    }

    const RUN: Run = Run { section: "bits", isa: Some("core"), model: Some("m") };

    #[test]
    fn lines_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let lines = [
            Line::new("bits.rows", 1.0, RIGHT, &[("isa", json!("core")), ("fault", Value::Null)]),
            Line::new("bits.rows", f64::NAN, "us", &[]),
            Line::end(&RUN, 2.5, Some("took more than 2 s".to_owned())),
        ];
        let mut results = Results::create(&path).unwrap();
        lines.iter().try_for_each(|line| results.add(line)).unwrap();
        assert_eq!(read(&path).unwrap(), lines);
        assert_eq!(lines[0].fields.len(), 1, "no empty fields");
        fs::write(&path, "{\"name\":\"wgpu.bits.rows\",\"value\":1,\"unit\":\"s\"}\n{\"name\":1}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("results.jsonl:2: not a result"), "{error}");
    }

    #[test]
    fn sections_that_are_missing_failed_or_wrong_are_found() {
        let figure = line(r#"{"name":"wgpu.bits.rows","value":1,"unit":"right"}"#);
        let end = Line::end(&RUN, 1.0, None);
        let of = |lines: &[&Line]| faults(&lines.iter().copied().cloned().collect::<Vec<_>>(), &[RUN]).join("; ");
        assert_eq!(of(&[&figure, &end]), "");
        let missing = r#"missing: section bits, Some("core"), Some("m")"#;
        let other = Line::end(&Run { isa: Some("subgroup"), ..RUN }, 1.0, None);
        assert_eq!(of(&[&figure, &other]), missing, "of another variant");
        assert_eq!(of(&[&end]), missing, "no figures");
        for (text, fault) in [
            (r#"{"name":"wgpu.bits.rows","value":null,"unit":"us"}"#, "has no finite value: "),
            (r#"{"name":"wgpu.bits.rows","value":0,"unit":"right"}"#, "wrong: "),
            (r#"{"name":"wgpu.bits.failed","value":3,"unit":"s","reason":"lost"}"#, "failed: "),
            (r#"{"name":"wgpu.bite.rows","value":3,"unit":"s"}"#, "of no section: "),
            (r#"{"name":"bits.rows","value":3,"unit":"s"}"#, "of no section: "),
        ] {
            let found = of(&[&figure, &end, &line(text)]);
            assert!(found.starts_with(fault), "{text}: {found}");
        }
    }
}
