//! `bench --scheduler`: what shared pages, the reuse of prompts and batches cost.

use super::opened::Opened;
use super::report::{Columns, Record, Report};
use crate::args::BenchArgs;
use crate::commands::open;
use crate::signals::Signals;
use crate::{Error, terminal};
use inkstone::bench::{Ratio, Round, SchedulerBench, SchedulerTest};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// The longest context of a model that was trained with more tokens.
const CONTEXT: u64 = 2048;

/// The rounds of a test take at least this time, so that a fast model has many of them.
const LEAST: Duration = Duration::from_secs(1);

pub(super) fn measure(args: &BenchArgs, signals: &Signals) -> Result<(), Error> {
    let mut report = Report::new(args.output);
    let mut missed = Vec::new();
    for &threads in args.thread_counts() {
        tests(args, open::threads(threads), signals, &mut report, &mut missed)?;
    }
    report.end()?;
    if args.assert && !missed.is_empty() {
        return Err(Error::SlowScheduler { tests: missed.join(", ") });
    }
    Ok(())
}

/// Runs all tests with this number of threads. The tests whose bounds are not met are added to `missed`.
fn tests(
    args: &BenchArgs,
    threads: usize,
    signals: &Signals,
    report: &mut Report,
    missed: &mut Vec<String>,
) -> Result<(), Error> {
    let context = context(args)?;
    let options = args.options(threads, SchedulerBench::SEQUENCES, context);
    let opened = Opened::new(args.model()?, options, context as usize, signals)?;
    let mut bench = SchedulerBench::new(&opened.model)?;
    for test in SchedulerTest::ALL {
        terminal::note(test.name());
        let Some(ratio) = Ratio::of(test, &rounds(&mut bench, test, args.repetitions, signals)?) else { continue };
        if !ratio.is_met() {
            missed.push(format!("{test} {:.3} (allowed: {})", ratio.ratio, test.bound()));
        }
        report.row(&Row { opened: &opened, ratio })?;
    }
    report.ended(&opened);
    Ok(())
}

/// The context: the requested one, or the trained one up to a limit.
fn context(args: &BenchArgs) -> Result<u32, Error> {
    if let Some(tokens) = args.context {
        return Ok(tokens);
    }
    let file = open::file(args.model()?)?;
    let metadata = file.metadata();
    let architecture = metadata.str("general.architecture").ok().flatten();
    // If the file does not say it, opening the model is an error with the reason.
    let trained = architecture.and_then(|name| metadata.u64(&format!("{name}.context_length")).ok().flatten());
    Ok(trained.map_or(CONTEXT, |tokens| tokens.clamp(1, CONTEXT)) as u32)
}

/// Measures a test: a round to warm up, then the repetitions, and more rounds if these take little time.
fn rounds(
    bench: &mut SchedulerBench,
    test: SchedulerTest,
    repetitions: usize,
    signals: &Signals,
) -> Result<Vec<Round>, Error> {
    bench.round(test)?;
    let (mut rounds, start) = (Vec::new(), Instant::now());
    while rounds.len() < repetitions || start.elapsed() < LEAST {
        if signals.interrupted() {
            return Err(Error::Interrupted);
        }
        rounds.push(bench.round(test)?);
    }
    Ok(rounds)
}

/// The ratio of a test.
struct Row<'a> {
    opened: &'a Opened,
    ratio: Ratio,
}

impl Record for Row<'_> {
    fn fields(&self) -> Map<String, Value> {
        let Row { opened, ratio: r } = self;
        let (config, bound) = (opened.model.config(), r.test.bound());
        let fields = [
            ("test", json!(r.test.name())),
            ("ratio", json!(r.ratio)),
            ("measured", json!(r.measured)),
            ("base", json!(r.base)),
            ("unit", json!(r.test.unit())),
            ("bound", json!(bound.sign())),
            ("floor", json!(bound.value())),
            ("met", json!(r.is_met())),
            ("rounds", json!(r.rounds)),
            ("model_filename", json!(opened.name)),
            ("n_threads", json!(opened.threads())),
            ("isa", json!(opened.isa())),
            ("n_ctx", json!(config.context)),
            ("kv_page", json!(config.page)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    const COLUMNS: &'static Columns = &[
        ("model", "---"),
        ("isa", "---"),
        ("threads", "---:"),
        ("context", "---:"),
        ("test", "---"),
        ("measured", "---:"),
        ("base", "---:"),
        ("unit", "---"),
        ("ratio", "---:"),
        ("floor", "---"),
        ("met", "---"),
    ];

    fn cells(&self) -> Vec<String> {
        let Row { opened, ratio: r } = self;
        vec![
            opened.name.clone(),
            opened.isa().to_owned(),
            opened.threads().to_string(),
            opened.model.config().context.to_string(),
            r.test.name().to_owned(),
            short(r.measured),
            short(r.base),
            r.test.unit().to_owned(),
            format!("{:.3}", r.ratio),
            r.test.bound().to_string(),
            if r.is_met() { "yes" } else { "no" }.to_owned(),
        ]
    }
}

/// A number with at least three digits.
fn short(value: f64) -> String {
    let digits = if value >= 100.0 { 0 } else { 2 - (value.abs().max(1e-6).log10().floor() as i32).min(2) };
    format!("{value:.*}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_have_three_digits() {
        let wanted = ["0.000123", "0.0500", "1.50", "25.9", "125", "8155"];
        assert_eq!([0.000_123_4, 0.05, 1.5, 25.93, 125.4, 8155.0].map(short), wanted);
    }
}
