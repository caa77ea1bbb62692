//! The steps of a model without text, for benchmarks.

mod pages;

pub use pages::PageOrder;

use crate::flight::{Failure, Flight, Wish};
use crate::inbox::Turn;
use crate::scheduler::Device;
use crate::traffic::Traffic;
use crate::{Error, Generator, Options, Result};
use inkstone_kvcache::PageTable;
use inkstone_tensor::step::{LAST, LogitWish, Sampler, SeqStep};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Sequences of equal length that a caller runs step by step. They can read a prompt of random tokens, decode the most
/// probable token without ever ending, and be truncated. This value has exclusive use of the generator: other requests
/// wait until it is dropped.
pub struct Steps<'g> {
    scheduler: Turn<'g>,
    tables: Vec<PageTable>,
    /// The largest number of tokens of each sequence.
    room: usize,
    /// The number of tokens of each sequence, without the steps that are under way.
    len: usize,
    /// The steps that the device has. All of them decode.
    flights: VecDeque<Flight>,
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
        self.steps_in_pages(sequences, room, PageOrder::default())
    }

    /// Like [`Generator::steps`], with the pages of the sequences in this order.
    ///
    /// # Errors
    /// Like [`Generator::steps`].
    pub fn steps_in_pages(&self, sequences: usize, room: usize, order: PageOrder) -> Result<Steps<'_>> {
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
        let scheduler = self.shared().turn();
        if !scheduler.is_idle() {
            return Err(Error::Busy);
        }
        let drawn = vec![0; sequences];
        let flights = VecDeque::new();
        let mut steps = Steps { scheduler, tables: Vec::new(), room, len: 0, flights, sampler, drawn, prompt, traffic };
        steps.begin(sequences, order)?;
        Ok(steps)
    }
}

impl Steps<'_> {
    /// Assigns slots and pages to the sequences.
    fn begin(&mut self, sequences: usize, order: PageOrder) -> Result<()> {
        self.scheduler.land_all().map_err(|error| self.lost(error))?;
        let Device { pool, tree, .. } = self.scheduler.device();
        tree.clear(pool);
        order.arrange(pool)?;
        for slot in 0..sequences {
            let Device { runner, pool, .. } = self.scheduler.device();
            let mut table = PageTable::default();
            let grown = pool.grow(&mut table, self.room);
            self.tables.push(table);
            grown?;
            runner.admit(slot, 0, u64::MAX, &[]).map_err(|error| self.lost(error))?;
        }
        Ok(())
    }

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
        if !self.flights.is_empty() {
            // Steps that were launched ahead are further on.
            self.truncate(self.len)?;
        }
        let start = Instant::now();
        for slot in 0..self.tables.len() {
            let mut fed = 0;
            while fed < tokens {
                let Device { runner, step, .. } = self.scheduler.device();
                let rows = runner.most_rows().min(tokens - fed);
                let last = fed + rows == tokens;
                let before = self.len + fed;
                let part = SeqStep {
                    slot,
                    tokens: &self.prompt[before..][..rows],
                    tables: &[self.tables[slot].pages()],
                    logits: if last { LogitWish::Last } else { LogitWish::None },
                    sampler: last.then_some(self.sampler.as_slice()),
                };
                step.clear();
                step.push(slot as u64, before, last, Wish::Nothing, &part);
                fed += rows;
                self.launch()?;
                self.land()?;
            }
        }
        let time = start.elapsed();
        self.len += tokens;
        Ok(time)
    }

    /// Decodes one token for each sequence, in one step. Returns the time from the call to the results. An engine that
    /// runs ahead has begun the following steps by then.
    ///
    /// # Errors
    /// The sequences are full, or the step fails.
    pub fn decode(&mut self) -> Result<Duration> {
        self.check_room(1)?;
        let start = Instant::now();
        let ahead = self.scheduler.device().runner.ahead().min(self.room - self.len);
        while self.flights.len() < ahead {
            let before = self.len + self.flights.len();
            let Device { step, .. } = self.scheduler.device();
            step.clear();
            for (slot, table) in self.tables.iter().enumerate() {
                let (tables, sampler) = (&[table.pages()], Some(self.sampler.as_slice()));
                let part = SeqStep { slot, tokens: &[LAST], tables, logits: LogitWish::Last, sampler };
                step.push(slot as u64, before, true, Wish::Nothing, &part);
            }
            self.launch()?;
        }
        self.land()?;
        let time = start.elapsed();
        self.len += 1;
        Ok(time)
    }

    /// Launches the composed step.
    fn launch(&mut self) -> Result<()> {
        let Device { runner, step, .. } = self.scheduler.device();
        match runner.launch(step) {
            Ok(flight) => self.flights.push_back(flight),
            Err(Failure::NotRun(error)) => return Err(error),
            Err(Failure::Lost(error)) => return Err(self.lost(error)),
        }
        Ok(())
    }

    /// Waits for the results of the oldest step.
    fn land(&mut self) -> Result<()> {
        let Some(flight) = self.flights.pop_front() else { return Ok(()) };
        let Device { runner, step, .. } = self.scheduler.device();
        if let Err(error) = runner.land(&flight, step, &mut |_, _, _| Ok(())) {
            return Err(self.lost(error));
        }
        for (i, part) in flight.parts.iter().enumerate().filter(|(_, p)| p.draws) {
            self.drawn[part.slot] = runner.drawn(&flight, i).token(0)?;
        }
        runner.reuse(flight);
        Ok(())
    }

    /// Waits for all steps that the device has.
    fn land_all(&mut self) -> Result<()> {
        while !self.flights.is_empty() {
            self.land()?;
        }
        Ok(())
    }

    /// The states of the device are unknown; the scheduler begins anew.
    fn lost(&mut self, error: Error) -> Error {
        self.flights.clear();
        Error::Shared(self.scheduler.lose(error))
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
        self.land_all()?;
        let len = len.min(self.len);
        let next = self.prompt[len.min(self.room - 1)];
        for slot in 0..self.tables.len() {
            let truncated = self.scheduler.device().runner.truncate(slot, len, next);
            truncated.map_err(|error| self.lost(error))?;
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
        if !std::thread::panicking() {
            // An error has been stored in the scheduler.
            drop(self.land_all());
        }
        let pool = self.scheduler.device().pool;
        for table in &mut self.tables {
            let released = pool.release(table);
            debug_assert!(released.is_ok(), "{released:?}");
        }
    }
}
