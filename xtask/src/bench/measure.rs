//! All tests of a model against one peer, and the lines of results that they give.

use std::fs;
use std::hint;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::fresh::{self, Fresh, Way};
use super::llama_cpp::{LlamaCpp, Variant};
use super::machine::{Machine, State};
use super::options::Options;
use super::peer::{Ours, Peer};
use super::record::{self, Figure, Record, Test, What};
use super::slices::{self, Contestant, MILLISECONDS, Slice};
use super::stamp;
use crate::error::Error;
use crate::workspace::Workspace;

/// Slices of decoding of each in a round.
const SLICES: usize = 8;
/// Slices of each way to run a peer, by which the best ones are chosen.
const TRIALS: usize = 3;
/// Tokens of a prompt by which they are chosen.
const TRIAL_PROMPT: usize = 128;
/// Ways to run a peer that are measured to the end.
const BEST: usize = 2;
/// Fresh processes of each.
const FRESH: usize = 5;

/// Inkstone against one peer.
pub struct Bench<'a> {
    options: &'a Options,
    ours: &'a Ours,
    peer: &'a Peer,
    machine: Machine,
    commit: String,
    output: PathBuf,
}

/// The figures of a record.
struct Measured {
    state: State,
    ours: Figure,
    variant: String,
    theirs: Figure,
    read: Option<f64>,
    share: Option<f64>,
    dot: Option<f64>,
    allowed: Option<f64>,
    aside: bool,
}

impl<'a> Bench<'a> {
    pub fn new(workspace: &Workspace, options: &'a Options, ours: &'a Ours, peer: &'a Peer) -> Result<Self, Error> {
        let output = match &options.output {
            Some(path) => path.clone(),
            None => record::folder(workspace.root()).join(format!("{}.jsonl", stamp::today())),
        };
        let commit = stamp::commit(workspace.root())?;
        Ok(Self { options, ours, peer, machine: Machine::this(), commit, output })
    }

    /// Measures all tests of a model; each result is printed and added to the file at once.
    pub fn model(&self, model: &Path) -> Result<(), Error> {
        for test in self.options.tests().iter().filter(|test| self.peer.has(test)) {
            let measured = beside(test.busy, || self.slices(model, test))?;
            self.keep(model, test, measured)?;
        }
        match (self.options.first, self.peer) {
            (Some(tokens), Peer::LlamaCpp(peer)) => {
                let test = Test::first(self.options.most_threads(), tokens);
                for way in [Way::Program, Way::Library] {
                    let (first, peak) = self.fresh(model, &test, peer, way)?;
                    self.keep(model, &test, vec![first])?;
                    self.keep(model, &Test::peak(test.threads), vec![peak])?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn slices(&self, model: &Path, test: &Test) -> Result<Vec<Measured>, Error> {
        let mut ours = self.ours.start(model, test)?;
        let mut peers = self.best(model, test)?;
        if let (true, Peer::LlamaCpp(peer), What::Decode) = (self.options.huge_pages, self.peer, test.what) {
            peers.push(peer.starter(Variant::HUGE_PAGES)(model, test)?);
        }
        for contestant in peers.iter_mut().map(|p| &mut **p).chain([&mut ours as &mut dyn Contestant]) {
            prepare(contestant, test)?;
        }
        let before = ours.products()?;
        let cycles = self.options.rounds * if test.what == What::Decode { SLICES } else { 1 };
        let slices = slices::run(test, &self.machine, &mut ours, &mut peers, cycles)?;
        let peak = [before, ours.products()?].into_iter().flatten().reduce(f64::max);
        let total = cycles * (1 + peers.len());
        if slices.len() < total {
            println!("  {} of {total} slices dropped: the memory's speed changed meanwhile", total - slices.len());
        }
        let is_aside = |who: usize| peers[who - 1].variant() == Variant::HUGE_PAGES.name();
        let (aside, level): (Vec<Slice>, Vec<Slice>) = slices.iter().partition(|s| s.who > 0 && is_aside(s.who));
        let of_ours = slices.iter().filter(|s| s.who == 0).copied();
        let mut measured = Vec::new();
        for (slices, aside) in [(level, false), (aside.into_iter().chain(of_ours).collect(), true)] {
            measured.extend(slices::outcomes(test, &slices).into_iter().map(|outcome| Measured {
                state: outcome.state,
                ours: outcome.ours,
                variant: peers[outcome.best.0 - 1].variant().to_owned(),
                theirs: outcome.best.1,
                read: Some(outcome.read),
                share: outcome.share.filter(|_| test.what == What::Decode && test.busy == 0),
                allowed: None,
                dot: outcome.macs.zip(peak).map(|(macs, peak)| macs / peak),
                aside,
            }));
        }
        Ok(measured)
    }

    /// The ways to run the peer that are the fastest in short trials, one after the other.
    fn best(&self, model: &Path, test: &Test) -> Result<Vec<Box<dyn Contestant>>, Error> {
        let starters = self.peer.starters(test);
        let mut best: Vec<(f64, Box<dyn Contestant>)> = Vec::new();
        let mut failed = Ok(());
        for starter in &starters {
            match starter(model, test).and_then(|mut c| Ok((self.trial(&mut *c, test, starters.len())?, c))) {
                Ok(tried) => best.push(tried),
                // Some way that a program does not know, or memory does not hold.
                Err(error) => {
                    println!("  left out: {error}");
                    failed = Err(error);
                }
            }
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            // Ends a process: memory does not hold all of them.
            best.truncate(BEST);
        }
        if best.is_empty() {
            failed?;
        }
        Ok(best.into_iter().map(|(_, contestant)| contestant).collect())
    }

    /// The median of some trials in tokens per second; skipped if there is only one choice.
    fn trial(&self, contestant: &mut dyn Contestant, test: &Test, choice: usize) -> Result<f64, Error> {
        if choice <= BEST {
            return Ok(0.0);
        }
        prepare(contestant, test)?;
        let mut rates = Vec::new();
        for _ in 0..TRIALS {
            let took = match test.what {
                What::Decode => contestant.decode(MILLISECONDS)?,
                _ => contestant.prompt(TRIAL_PROMPT.min(test.tokens))?,
            };
            rates.push(took.rate());
        }
        let rate = Figure::of(&rates).map_or(0.0, |figure| figure.median);
        println!("  trial: {rate:8.2} tokens/s, {}", contestant.variant());
        Ok(rate)
    }

    /// Time to the first token and peak memory of fresh processes in turns: `program`, or the library in the process of
    /// the script.
    fn fresh(&self, model: &Path, test: &Test, peer: &LlamaCpp, way: Way) -> Result<(Measured, Measured), Error> {
        let (ours, theirs) = fresh::compare(self.ours, peer, model, test, way, FRESH)?;
        let measured = |of: fn(&Fresh) -> f64, allowed: Option<f64>| {
            let figure = |all: &[Fresh]| Figure::of(&all.iter().map(of).collect::<Vec<_>>());
            let nothing = || Error::Peer { name: way.name().to_owned(), what: "no process ran".to_owned() };
            Ok::<_, Error>(Measured {
                state: State::Any,
                ours: figure(&ours).ok_or_else(nothing)?,
                variant: way.name().to_owned(),
                theirs: figure(&theirs).ok_or_else(nothing)?,
                read: None,
                share: None,
                dot: None,
                allowed,
                aside: false,
            })
        };
        let allowed = fresh::allowed(model)?;
        Ok((measured(|f| f.first, None)?, measured(|f| f.peak as f64, Some(allowed))?))
    }

    /// Prints results and adds them to the file.
    fn keep(&self, model: &Path, test: &Test, measured: Vec<Measured>) -> Result<(), Error> {
        let model = model.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if measured.is_empty() {
            println!("{model}, {test}: no state of the memory held long enough");
        }
        let record = |m: Measured| Record {
            date: stamp::today(),
            commit: self.commit.clone(),
            machine: self.machine.name.clone(),
            isa: self.options.isa.clone().unwrap_or_else(|| self.machine.kind.isa().to_owned()),
            numerics: self.options.numerics.clone(),
            model: model.clone(),
            test: *test,
            state: m.state.name().to_owned(),
            ratio: m.ours.median / m.theirs.median,
            ours: m.ours,
            peer: self.peer.name(),
            variant: m.variant,
            theirs: m.theirs,
            read: m.read,
            share: m.share,
            dot: m.dot,
            allowed: m.allowed,
            aside: m.aside,
        };
        let records: Vec<Record> = measured.into_iter().map(record).collect();
        for record in &records {
            println!("{record}");
        }
        if let Some(folder) = self.output.parent() {
            fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
        }
        record::append(&self.output, &records)
    }
}

/// The work before a measurement: filling the cache, and the first tokens.
fn prepare(contestant: &mut dyn Contestant, test: &Test) -> Result<(), Error> {
    match test.what {
        What::Decode => {
            contestant.fill(test.depth)?;
            contestant.decode(1).map(drop)
        }
        _ => contestant.prompt(TRIAL_PROMPT.min(test.tokens)).map(drop),
    }
}

/// Calls `f` while so many threads compute.
fn beside<T>(busy: usize, f: impl FnOnce() -> T) -> T {
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        let result = f();
        ended.store(true, Ordering::Relaxed);
        result
    })
}
