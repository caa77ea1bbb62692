//! The results in the requested format. All formats except the JSON array are written row by row.

use super::opened::Opened;
use crate::args::Output;
use crate::commands::table::figure;
use crate::{Error, output, terminal};
use serde_json::{Map, Value};

/// The columns of a table: the head, and the mark for its alignment: texts to the left, numbers to the right.
pub(super) type Columns = [(&'static str, &'static str)];

/// A row of results.
pub(super) trait Record {
    const COLUMNS: &'static Columns;

    /// One cell per column.
    fn cells(&self) -> Vec<String>;

    /// Names and values.
    fn fields(&self) -> Map<String, Value>;
}

pub(super) struct Report {
    form: Output,
    /// The rows so far, for an array.
    rows: Vec<Map<String, Value>>,
    begun: bool,
}

impl Report {
    pub(super) fn new(form: Output) -> Report {
        Report { form, rows: Vec::new(), begun: false }
    }

    pub(super) fn row<R: Record>(&mut self, row: &R) -> Result<(), Error> {
        let begins = !std::mem::replace(&mut self.begun, true);
        match self.form {
            Output::Md => {
                if begins {
                    let (head, rule): (Vec<_>, Vec<_>) = R::COLUMNS.iter().copied().unzip();
                    line(&[table_line(&head), table_line(&rule)].join("\n"))?;
                }
                line(&table_line(&row.cells()))
            }
            Output::Json => {
                self.rows.push(row.fields());
                Ok(())
            }
            Output::Jsonl => line(&Value::Object(row.fields()).to_string()),
            Output::Csv => {
                let fields = row.fields();
                if begins {
                    line(&fields.keys().cloned().collect::<Vec<_>>().join(","))?;
                }
                line(&fields.values().map(csv_value).collect::<Vec<_>>().join(","))
            }
        }
    }

    /// Prints the load time, the time to the first token and the memory of a model to standard error.
    pub(super) fn ended(&self, opened: &Opened) {
        let seconds = |time: std::time::Duration| format!("{:.3} s", time.as_secs_f64());
        let peak = opened.peak.map_or("not known".to_owned(), |peak| figure(peak as f64, "B"));
        terminal::note(&format!(
            "loaded in {}, first token of 16 after {} more, most memory {peak}",
            seconds(opened.load),
            seconds(opened.first_token),
        ));
        if let Some(meter) = &opened.meter {
            terminal::note(&format!(
                "one thread reads {}/s, sweeps have {} streams per thread, int8 products {}/s",
                figure(meter.alone(), "B"),
                meter.streams(),
                figure(meter.products(), "MAC"),
            ));
        }
    }

    pub(super) fn end(self) -> Result<(), Error> {
        if self.form != Output::Json {
            return Ok(());
        }
        let rows: Vec<Value> = self.rows.into_iter().map(Value::Object).collect();
        line(&format!("{:#}", Value::Array(rows)))
    }
}

fn table_line<S: AsRef<str>>(cells: &[S]) -> String {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    format!("| {} |", cells.join(" | "))
}

fn csv_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => format!("\"{}\"", text.replace('"', "\"\"")),
        other => other.to_string(),
    }
}

fn line(text: &str) -> Result<(), Error> {
    Ok(output::print(format!("{text}\n").as_bytes())?)
}
