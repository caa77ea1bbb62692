//! The steps of a model without text, for benchmarks.

use crate::generator::lock;
use crate::runner::Runner;
use crate::scheduler::Scheduler;
use crate::traffic::Traffic;
use crate::{Error, Generator, Options, Result};
use inkstone_kvcache::{PageTable, Pool};
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{LAST, LogitWish, Sampler, SeqStep};
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

/// Sequences of equal length that a caller runs step by step. They can read a prompt of random tokens, decode the most
/// probable token without ever ending, and be truncated. This value has exclusive use of the generator: other requests
/// wait until it is dropped.
pub struct Steps<'g> {
    scheduler: MutexGuard<'g, Scheduler>,
    tables: Vec<PageTable>,
    /// The largest number of tokens of each sequence.
    room: usize,
    /// The number of tokens of each sequence in the caches.
    len: usize,
    sampler: Vec<u32>,
    /// The token that each sequence drew last.
    drawn: Vec<u32>,
    /// The tokens of a prompt, used for all prompts.
    prompt: Vec<u32>,
    traffic: Traffic,
}

impl Generator {
    /// Takes exclusive use of the generator for `sequences` sequences of at most `room` tokens.
    ///
    /// # Errors
    /// The numbers exceed the configuration of the generator, or other sequences are running.
    pub fn steps(&self, sequences: usize, room: usize) -> Result<Steps<'_>> {
        let wrong = |option, value: usize, most: usize| Error::Option {
            option,
            value: value.to_string(),
            allowed: format!("1 to {most}"),
        };
        let config = self.config();
        if sequences == 0 || sequences > config.sequences {
            return Err(wrong("sequences", sequences, config.sequences));
        }
        if room == 0 || room > config.context {
            return Err(wrong("tokens of a sequence", room, config.context));
        }
        let chain = crate::request::chain(&Options::default().temperature(0.0), &[], self.graph().config.vocab)?;
        let mut sampler = Vec::new();
        Sampler::encode(0, 0, &chain, &mut sampler);
        let vocab = self.graph().config.vocab as u64;
        // Any tokens can be used; these are spread over the vocabulary.
        let prompt = (0..room as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % vocab);
        let prompt = prompt.map(|id| id as u32).collect();
        let traffic = Traffic::of(self.graph(), self.compiled())?;
        let mut scheduler = lock(self.scheduler());
        if !scheduler.is_idle() {
            return Err(Error::Busy);
        }
        let mut tables = Vec::new();
        for slot in 0..sequences {
            let (runner, pool) = scheduler.device();
            let mut table = PageTable::default();
            let grown = pool.grow(&mut table, room);
            tables.push(table);
            let admitted = grown.map_err(Error::from).and_then(|()| runner.admit(slot, u64::MAX, &[]));
            if let Err(error) = admitted {
                release(&mut scheduler, &mut tables);
                return Err(error);
            }
        }
        let drawn = vec![0; sequences];
        Ok(Steps { scheduler, tables, room, len: 0, sampler, drawn, prompt, traffic })
    }
}

impl Steps<'_> {
    /// The number of sequences.
    pub fn sequences(&self) -> usize {
        self.tables.len()
    }

    /// The number of tokens of each sequence.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the sequences have no tokens.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The largest number of tokens of each sequence.
    pub fn room(&self) -> usize {
        self.room
    }

    /// The bytes and multiply-adds of its steps.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Feeds a prompt of this length to each sequence, in steps as large as the engine allows, and draws a token for
    /// each sequence at its end. Returns the time.
    ///
    /// # Errors
    /// The sequences have no room for the tokens, or a step fails.
    pub fn prompt(&mut self, tokens: usize) -> Result<Duration> {
        self.check_room(tokens)?;
        let start = Instant::now();
        for slot in 0..self.tables.len() {
            let mut fed = 0;
            while fed < tokens {
                let rows = self.scheduler.device().0.most_rows().min(tokens - fed);
                let last = fed + rows == tokens;
                let (runner, _) = self.scheduler.device();
                runner.step.clear();
                runner.step.push(&SeqStep {
                    slot,
                    tokens: &self.prompt[self.len + fed..][..rows],
                    tables: &[self.tables[slot].pages()],
                    logits: if last { LogitWish::Last } else { LogitWish::None },
                    sampler: last.then_some(self.sampler.as_slice()),
                });
                fed += rows;
                runner.cached = self.len + fed;
                runner.run(false, false)?;
                if last {
                    self.drawn[slot] = token(runner, slot)?;
                }
            }
        }
        let time = start.elapsed();
        self.len += tokens;
        Ok(time)
    }

    /// Decodes one token for each sequence, in one step. Returns the time.
    ///
    /// # Errors
    /// The sequences are full, or the step fails.
    pub fn decode(&mut self) -> Result<Duration> {
        self.check_room(1)?;
        let start = Instant::now();
        let (runner, _) = self.scheduler.device();
        runner.step.clear();
        runner.cached = (self.len + 1) * self.tables.len();
        for (slot, table) in self.tables.iter().enumerate() {
            let (tables, sampler) = (&[table.pages()], Some(self.sampler.as_slice()));
            runner.step.push(&SeqStep { slot, tokens: &[LAST], tables, logits: LogitWish::Last, sampler });
        }
        runner.run(false, false)?;
        for (slot, drawn) in self.drawn.iter_mut().enumerate() {
            *drawn = token(runner, slot)?;
        }
        let time = start.elapsed();
        self.len += 1;
        Ok(time)
    }

    /// The token that each sequence drew last; 0 before the first one.
    pub fn drawn(&self) -> &[u32] {
        &self.drawn
    }

    /// Truncates each sequence to its first `len` tokens; later tokens will be overwritten. The next decode feeds a
    /// token that depends only on `len`, so that all decodes from there are equal.
    ///
    /// # Errors
    /// The engine fails.
    pub fn truncate(&mut self, len: usize) -> Result<()> {
        let len = len.min(self.len);
        let next = self.prompt[len.min(self.room - 1)];
        for slot in 0..self.tables.len() {
            self.scheduler.device().0.truncate(slot, len, next)?;
        }
        self.len = len;
        Ok(())
    }

    fn check_room(&self, tokens: usize) -> Result<()> {
        let left = self.room - self.len;
        if tokens >= 1 && tokens <= left {
            return Ok(());
        }
        let allowed = if left > 0 { format!("1 to {left}") } else { format!("none, {} are there", self.len) };
        Err(Error::Option { option: "tokens", value: tokens.to_string(), allowed })
    }
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        release(&mut self.scheduler, &mut self.tables);
    }
}

fn release(scheduler: &mut Scheduler, tables: &mut [PageTable]) {
    let (_, pool): (_, &mut Pool) = scheduler.device();
    tables.iter_mut().for_each(|table| pool.release(table));
}

/// The token that a sequence drew.
fn token(runner: &Runner, slot: usize) -> Result<u32> {
    match Record::decode(runner.drawn(slot).record) {
        Record::Token(id) => Ok(id),
        Record::NanLogits => Err(Error::NanLogits { token: 0 }),
        other => Err(Error::NoRecord { token: 0, status: format!("{other:?}") }),
    }
}
