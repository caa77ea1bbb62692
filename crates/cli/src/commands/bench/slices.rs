//! `bench --slices`: a process that measures slices on request of a driver, so that they alternate with slices of other
//! programs. `bench/README.md` describes the protocol.

use super::opened::Opened;
use crate::args::BenchArgs;
use crate::signals::Signals;
use crate::{Error, output};
use inkstone::bench::{Bench, Meter};
use inkstone::compute::peak_memory;
use serde_json::{Value, json};
use std::io::BufRead;
use std::time::Duration;

/// The requests that are answered.
const LINES: &str = "fill N, decode MS, prompt N, first N, sweep, products, peak, quit";

/// The largest number of tokens of a sequence, if the command line does not give it.
const CONTEXT: u32 = 1024;

pub(super) fn answer(args: &BenchArgs, signals: &Signals) -> Result<(), Error> {
    let (&[threads], &[sequences]) = (args.thread_counts(), args.sequences.as_slice()) else {
        return Err(Error::Usage("--slices takes one number of --threads and one of --batch".to_owned()));
    };
    let context = args.context.unwrap_or(CONTEXT);
    let tokens = context as usize;
    let opened = Opened::new(args.model()?, args.options(threads, sequences, context), tokens, signals)?;
    let (bytes, values) = opened.size();
    say(&json!({
        "load_ns": nanoseconds(opened.load),
        "first_token_ns": nanoseconds(opened.first_token),
        "engine": "inkstone",
        "version": env!("CARGO_PKG_VERSION"),
        "isa": opened.isa(),
        "threads": opened.threads(),
        "sequences": sequences,
        "model_bytes": bytes,
        "model_values": values,
    }))?;
    let (mut meter, mut peak) = (None, opened.peak);
    let mut asked = Asked { bench: Bench::new(&opened.model, sequences, tokens, None)?, depth: 0 };
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|source| Error::Read { name: "standard input".to_owned(), source })?;
        let mut words = line.split_whitespace();
        let (name, number) = (words.next().unwrap_or(""), words.next().map(str::parse::<usize>));
        let answer = match (name, number) {
            ("fill", Some(Ok(depth))) => asked.fill(depth),
            ("decode", Some(Ok(milliseconds))) => asked.decode(milliseconds),
            ("prompt", Some(Ok(tokens))) => asked.prompt(tokens),
            ("first", Some(Ok(tokens))) => asked.first(tokens),
            ("sweep" | "products", None) => {
                if meter.is_none() {
                    // The memory of the meter is not memory of the model.
                    peak = peak.max(peak_memory());
                    meter = Meter::new(&opened.model);
                }
                Ok(measured(name, meter.as_mut()))
            }
            ("peak", None) => {
                let held = meter.as_ref().map_or(0, Meter::bytes);
                peak = peak.max(peak_memory().map(|now| now.saturating_sub(held)));
                Ok(json!({ "peak_bytes": peak }))
            }
            ("quit", None) => break,
            _ => Ok(json!({ "error": format!("{line:?}: allowed: {LINES}") })),
        };
        say(&answer.unwrap_or_else(|error| json!({ "error": error.to_string() })))?;
    }
    Ok(())
}

/// The sequences, with their length between requests.
struct Asked<'a> {
    bench: Bench<'a>,
    depth: usize,
}

impl Asked<'_> {
    fn fill(&mut self, depth: usize) -> Result<Value, Error> {
        self.depth = 0;
        let time = self.bench.fill(depth)?;
        self.depth = depth;
        Ok(json!({ "depth": depth, "ns": nanoseconds(time) }))
    }

    fn decode(&mut self, milliseconds: usize) -> Result<Value, Error> {
        let slice = self.bench.decode_for(Duration::from_millis(milliseconds as u64))?;
        Ok(json!({
            "tokens": slice.tokens,
            "ns": nanoseconds(slice.time),
            "steps": slice.steps,
            "bytes": slice.bytes,
            "macs": slice.macs,
        }))
    }

    fn prompt(&mut self, tokens: usize) -> Result<Value, Error> {
        self.fill(0)?;
        let slice = self.bench.prompt(tokens)?;
        // The steps of a long prompt read the weights more often than this.
        let bytes = self.bench.traffic().decode_bytes(1, 0);
        Ok(json!({ "tokens": slice.tokens, "ns": nanoseconds(slice.time), "bytes": bytes, "macs": slice.macs }))
    }

    fn first(&mut self, tokens: usize) -> Result<Value, Error> {
        self.fill(0)?;
        let slice = self.bench.prompt(tokens)?;
        Ok(json!({ "token": self.bench.drawn().first(), "ns": nanoseconds(slice.time) }))
    }
}

/// The current rates of the machine.
fn measured(what: &str, meter: Option<&mut Meter>) -> Value {
    let found = meter.and_then(|meter| match what {
        "sweep" => {
            let read = meter.sweep()?;
            Some(json!({
                "gb_per_s": read / 1e9,
                "state": meter.state(read).name(),
                "alone_gb_per_s": meter.alone() / 1e9,
                "streams": meter.streams(),
            }))
        }
        _ => Some(json!({ "gmac_per_s": meter.measure_products()? / 1e9 })),
    });
    found.unwrap_or_else(
        || json!({ "error": "the machine is not measured: the engine can't, or there is too little memory" }),
    )
}

fn say(answer: &Value) -> Result<(), Error> {
    Ok(output::print(format!("{answer}\n").as_bytes())?)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
