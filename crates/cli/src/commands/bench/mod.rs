//! `bench`: the speed of a model, and its share of the peak rates of the machine.

mod kernels;
mod opened;
mod report;
mod rows;
mod scheduler;
mod slices;

use super::open;
use crate::args::BenchArgs;
use crate::signals::Signals;
use crate::{Error, terminal};
use inkstone::bench::{Bench, SLICE, Slice, Summary};
use opened::Opened;
use report::Report;
use rows::{Row, Test};

/// Tokens of the prompt before the first token.
const FIRST_PROMPT: usize = 16;

pub(crate) fn bench(args: &BenchArgs, signals: &Signals) -> Result<(), Error> {
    if args.kernels {
        return kernels::time(args);
    }
    if args.scheduler {
        return scheduler::measure(args, signals);
    }
    if args.assert {
        return Err(Error::Usage("--assert goes with --kernels or --scheduler".to_owned()));
    }
    if args.slices {
        return slices::answer(args, signals);
    }
    let mut report = Report::new(args.output);
    for &threads in args.thread_counts() {
        tests(args, open::threads(threads), signals, &mut report)?;
    }
    report.end()
}

/// Runs all tests with this number of threads.
fn tests(args: &BenchArgs, threads: usize, signals: &Signals, report: &mut Report) -> Result<(), Error> {
    let most = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
    let tokens = most(&args.n_depth) + most(&args.n_prompt).max(most(&args.n_gen)).max(FIRST_PROMPT);
    let options = args.options(threads, most(&args.sequences), u32::try_from(tokens).unwrap_or(u32::MAX));
    let mut opened = Opened::new(args.model()?, options, tokens, signals)?;
    opened.measure_machine();
    for &sequences in &args.sequences {
        for &depth in &args.n_depth {
            for &prompt in args.n_prompt.iter().filter(|n| **n > 0 && sequences == args.sequences[0]) {
                run(args, &mut opened, Test { sequences: 1, depth, prompt, text: 0 }, signals, report)?;
            }
            for &text in args.n_gen.iter().filter(|n| **n > 0) {
                run(args, &mut opened, Test { sequences, depth, prompt: 0, text }, signals, report)?;
            }
        }
    }
    report.ended(&opened);
    Ok(())
}

/// Runs a test: first a run to warm up, then the repetitions. The caches are filled once.
fn run(args: &BenchArgs, opened: &mut Opened, test: Test, signals: &Signals, report: &mut Report) -> Result<(), Error> {
    terminal::note(&format!("{}, {}", test.name(), super::table::counted(test.sequences as u64, "sequence")));
    let (model, meter) = (&opened.model, &mut opened.meter);
    let mut bench = Bench::new(model, test.sequences, opened.tokens, meter.as_mut())?;
    bench.fill(test.depth)?;
    let once = |bench: &mut Bench| -> Result<Vec<Slice>, Error> {
        if signals.interrupted() {
            return Err(Error::Interrupted);
        }
        Ok(if test.prompt > 0 { vec![bench.prompt(test.prompt)?] } else { bench.decode(test.text, SLICE)? })
    };
    if test.prompt > 0 {
        once(&mut bench)?;
    } else {
        bench.decode_for(SLICE)?;
    }
    let runs = (0..args.repetitions).map(|_| once(&mut bench)).collect::<Result<Vec<_>, _>>()?;
    drop(bench);
    let (summaries, dropped) = Summary::of(&runs, opened.meter.as_ref());
    if summaries.is_empty() {
        terminal::note(&format!("note: {}: memory changed in each of {dropped} slices", test.name()));
    }
    opened.end();
    for summary in summaries {
        report.row(&Row { opened, test, summary, dropped })?;
    }
    Ok(())
}
