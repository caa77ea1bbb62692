//! A row of the results.

use super::opened::Opened;
use super::report::{Columns, Record};
use crate::commands::table::figure;
use inkstone::bench::{Meter, Summary};
use serde_json::{Map, Value, json};

/// A test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub sequences: usize,
    /// The number of tokens before it.
    pub depth: usize,
    /// The tokens of a prompt, or 0.
    pub prompt: usize,
    /// The tokens of a text, or 0.
    pub text: usize,
}

impl Test {
    /// Its name in llama-bench.
    pub(super) fn name(&self) -> String {
        let what = if self.prompt > 0 { format!("pp{}", self.prompt) } else { format!("tg{}", self.text) };
        if self.depth > 0 { format!("{what} @ d{}", self.depth) } else { what }
    }
}

/// A test in one state of memory.
pub(super) struct Row<'a> {
    pub opened: &'a Opened,
    pub test: Test,
    pub summary: Summary,
    /// The number of slices, over all states, in which the state of memory changed.
    pub dropped: usize,
}

impl Record for Row<'_> {
    /// First the fields of llama-bench, then additional ones.
    fn fields(&self) -> Map<String, Value> {
        let (s, test, opened) = (&self.summary, &self.test, self.opened);
        let (meter, size) = (opened.meter.as_ref(), opened.size());
        let giga = |rate: f64| rate / 1e9;
        let fields = [
            ("model_filename", json!(opened.name)),
            ("model_size", json!(size.0)),
            ("model_n_params", json!(size.1)),
            ("n_threads", json!(opened.threads())),
            ("n_prompt", json!(test.prompt)),
            ("n_gen", json!(test.text)),
            ("n_depth", json!(test.depth)),
            ("avg_ts", json!(s.mean)),
            ("stddev_ts", json!(s.deviation)),
            ("median_ts", json!(s.median)),
            ("sequences", json!(test.sequences)),
            ("isa", json!(opened.isa())),
            ("state", json!(s.state.name())),
            ("runs", json!(s.runs)),
            ("slices", json!(s.slices)),
            ("slices_dropped", json!(self.dropped)),
            ("token_bytes", json!(s.token_bytes)),
            ("gb_per_s", json!(giga(s.bytes_rate))),
            ("read_gb_per_s", json!(s.read.map(giga))),
            ("of_read", json!(s.of_read)),
            ("gmac_per_s", json!(giga(s.macs_rate))),
            ("int8_gmac_per_s", json!(meter.map(|m| giga(m.products())))),
            ("of_int8", json!(s.of_products)),
            ("read_alone_gb_per_s", json!(meter.map(|m| giga(m.alone())))),
            ("streams", json!(meter.map(Meter::streams))),
            ("load_ns", json!(opened.load.as_nanos() as u64)),
            ("first_token_ns", json!(opened.first_token.as_nanos() as u64)),
            ("peak_bytes", json!(opened.peak)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    const COLUMNS: &'static Columns = &[
        ("model", "---"),
        ("size", "---:"),
        ("params", "---:"),
        ("isa", "---"),
        ("threads", "---:"),
        ("seqs", "---:"),
        ("test", "---:"),
        ("state", "---"),
        ("t/s", "---:"),
        ("GB/s", "---:"),
        ("of read", "---:"),
        ("of int8", "---:"),
    ];

    fn cells(&self) -> Vec<String> {
        let (s, opened) = (&self.summary, self.opened);
        let (bytes, values) = opened.size();
        let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1}%", 100.0 * share));
        vec![
            opened.name.clone(),
            figure(bytes as f64, "B"),
            figure(values as f64, ""),
            opened.isa().to_owned(),
            opened.threads().to_string(),
            self.test.sequences.to_string(),
            self.test.name(),
            s.state.name().to_owned(),
            format!("{:.2} ± {:.2}", s.mean, s.deviation),
            if s.bytes_rate > 0.0 { format!("{:.1}", s.bytes_rate / 1e9) } else { "-".to_owned() },
            share(s.of_read),
            share(s.of_products),
        ]
    }
}
