//! The steps of a model without text, for benchmarks.

mod pages;

pub use pages::PageOrder;

use crate::flight::{Failure, Flight, Rows, Wish};
use crate::host::{Drawer, HostDraws, HostRow};
use crate::inbox::Turn;
use crate::scheduler::Device;
use crate::sequence::Sampling;
use crate::traffic::Traffic;
use crate::{Error, Generator, Options, Result};
use inkstone_kvcache::{Copies, Tables};
use inkstone_tensor::step::{GROUPS, LAST, LogitWish, Sampler, SeqStep};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Sequences of equal length that a caller runs step by step. They can read a prompt of random tokens, decode the most
/// probable token without ever ending, and be truncated. This value has exclusive use of the generator: other requests
/// wait until it is dropped.
pub struct Steps<'g> {
    scheduler: Turn<'g>,
    tables: Vec<Tables>,
    /// A length, and the pages of window groups of all sequences there.
    mark: Option<(usize, Vec<Tables>)>,
    copies: Copies,
    /// The largest number of tokens of each sequence.
    room: usize,
    /// The number of tokens of each sequence, without the steps that are under way.
    len: usize,
    /// The steps that the device has. All of them decode.
    flights: VecDeque<Flight>,
    sampler: Vec<u32>,
    drawer: Drawer,
    /// The draws of the host in the step that landed last.
    host: HostDraws,
    /// The token that each sequence drew last.
    drawn: Vec<u32>,
    /// The token that each sequence feeds next.
    next: Vec<u32>,
    /// Whether the draw of each sequence in the step that landed last was left to the host.
    left: Vec<bool>,
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
        let drawer = self.drawer(Sampling { words: &sampler, scored: false });
        let mut steps = Steps {
            scheduler,
            tables: Vec::new(),
            mark: None,
            copies: Copies::with_capacity(GROUPS),
            room,
            len: 0,
            flights: VecDeque::new(),
            sampler,
            drawer,
            host: HostDraws::default(),
            drawn: vec![0; sequences],
            next: vec![0; sequences],
            left: vec![false; sequences],
            prompt,
            traffic,
        };
        steps.begin(sequences, order)?;
        Ok(steps)
    }
}

impl Steps<'_> {
    /// Assigns slots and pages to the sequences.
    fn begin(&mut self, sequences: usize, order: PageOrder) -> Result<()> {
        self.scheduler.land_all().map_err(|error| self.lost(error))?;
        let Device { caches, .. } = self.scheduler.device();
        caches.clear();
        caches.pools_mut().iter_mut().try_for_each(|pool| order.arrange(pool))?;
        for slot in 0..sequences {
            let Device { runner, caches, .. } = self.scheduler.device();
            let mut tables = Tables::default();
            let grown = caches.grow(&mut tables, self.room, 0);
            self.tables.push(tables);
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
        self.set_mark()?;
        for slot in 0..self.tables.len() {
            self.feed(slot, self.len, self.len + tokens, Rows::Rest)?;
        }
        let time = start.elapsed();
        self.len += tokens;
        Ok(time)
    }

    /// Feeds the tokens of the prompt at these positions to a sequence. `last`: the kind of the last rows.
    fn feed(&mut self, slot: usize, from: usize, to: usize, last: Rows) -> Result<()> {
        let mut before = from;
        while before < to {
            let rows = self.scheduler.device().runner.most_rows().min(to - before);
            self.scheduler.device().step.clear();
            self.push(slot, before, if before + rows == to { last } else { Rows::Chunk }, rows)?;
            self.launch()?;
            before += rows;
            self.next[slot] = self.prompt[before - 1];
            self.land(before)?;
        }
        Ok(())
    }

    /// Decodes one token for each sequence, in one step. Returns the time from the call to the results. An engine that
    /// runs ahead has begun the following steps by then.
    ///
    /// # Errors
    /// The sequences are full, or the step fails.
    pub fn decode(&mut self) -> Result<Duration> {
        self.check_room(1)?;
        let start = Instant::now();
        let ahead = match self.drawer {
            Drawer::Device => self.scheduler.device().runner.ahead().min(self.room - self.len),
            Drawer::Host | Drawer::HostOnce => 1,
        };
        while self.flights.len() < ahead {
            let before = self.len + self.flights.len();
            self.scheduler.device().step.clear();
            for slot in 0..self.tables.len() {
                self.push(slot, before, Rows::Decode, 1)?;
            }
            self.launch()?;
        }
        self.land(self.len + 1)?;
        let time = start.elapsed();
        self.len += 1;
        Ok(time)
    }

    /// Adds the next rows of a sequence that has `before` tokens to the step.
    fn push(&mut self, slot: usize, before: usize, rows: Rows, count: usize) -> Result<()> {
        let Device { caches, step, .. } = self.scheduler.device();
        let tables = &mut self.tables[slot];
        caches.keep(tables, before)?;
        caches.grow(tables, self.room, before + count)?;
        self.copies.clear();
        caches.write(tables, before..before + count, &mut self.copies)?;
        self.copies.drain(..).for_each(|(group, copy)| step.copy(group, copy));
        let groups = caches.groups().len();
        let (draws, by_host) = (rows != Rows::Chunk, self.drawer != Drawer::Device);
        let tokens = match rows {
            Rows::Decode if by_host => &self.next[slot..=slot],
            Rows::Decode => &[LAST][..],
            Rows::Chunk | Rows::Rest => &self.prompt[before..][..count],
        };
        let part = SeqStep {
            slot,
            tokens,
            tables: &self.tables[slot].pages()[..groups],
            logits: if draws { LogitWish::Last } else { LogitWish::None },
            sampler: (draws && !by_host).then_some(self.sampler.as_slice()),
        };
        let wish = if draws && by_host { Wish::Draw } else { Wish::Nothing };
        self.scheduler.device().step.push(slot as u64, before, rows, wish, &part);
        Ok(())
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

    /// Waits for the results of the oldest step, behind which its sequences have `len` tokens.
    fn land(&mut self, len: usize) -> Result<()> {
        let Some(flight) = self.flights.pop_front() else { return Ok(()) };
        let Steps { scheduler, host, sampler, .. } = self;
        let Device { runner, step, .. } = scheduler.device();
        let sampling = Sampling { words: sampler, scored: false };
        // The most probable token does not depend on those before.
        let row = HostRow { sampling, tokens: &[], position: len - 1 };
        host.clear();
        if let Err(error) = runner.land(&flight, step, &mut |part, n, fetch| host.draw(part.id, &row, n, fetch)) {
            return Err(self.lost(error));
        }
        let mut left = false;
        for (i, part) in flight.parts.iter().enumerate().filter(|(_, p)| p.gives_token()) {
            let by_host = part.wish == Wish::Draw;
            let drawn = if by_host { self.host.drawn(part.id) } else { runner.drawn(&flight, i) };
            self.left[part.slot] = drawn.is_left_to_host();
            left |= self.left[part.slot];
            if !self.left[part.slot] {
                let token = drawn.token(0)?;
                (self.drawn[part.slot], self.next[part.slot]) = (token, token);
            }
        }
        if left {
            return self.make_up(flight, len);
        }
        runner.reuse(flight);
        Ok(())
    }

    /// The host draws for the sequences of a step that the device has left to it. Their rows are computed again, and the
    /// others go back to where they were behind the step.
    fn make_up(&mut self, flight: Flight, len: usize) -> Result<()> {
        self.discard()?;
        self.scheduler.device().step.clear();
        let drawer = std::mem::replace(&mut self.drawer, Drawer::HostOnce);
        for part in &flight.parts {
            let left = self.left[part.slot];
            self.go_on(part.slot, len - usize::from(left))?;
            if left {
                self.push(part.slot, len - 1, Rows::Decode, 1)?;
            }
        }
        self.drawer = drawer;
        self.launch()?;
        self.land(len)?;
        flight.parts.iter().try_for_each(|part| self.go_on(part.slot, len))?;
        self.scheduler.device().runner.reuse(flight);
        Ok(())
    }

    /// A sequence has this number of tokens, and goes on with its next one.
    fn go_on(&mut self, slot: usize, len: usize) -> Result<()> {
        let next = self.next[slot];
        let written = self.scheduler.device().runner.truncate(slot, len, next);
        written.map_err(|error| self.lost(error))
    }

    /// Waits for all steps that the device has, and drops their results.
    fn discard(&mut self) -> Result<()> {
        while let Some(flight) = self.flights.pop_front() {
            let Device { runner, step, .. } = self.scheduler.device();
            if let Err(error) = runner.land(&flight, step, &mut |_, _, _| Ok(())) {
                return Err(self.lost(error));
            }
            runner.reuse(flight);
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
        self.discard()?;
        let len = len.min(self.len);
        if self.mark.as_ref().is_none_or(|(mark, _)| *mark != len) && len == self.len {
            self.set_mark()?;
        }
        for slot in 0..self.tables.len() {
            let floor = self.back(slot, len)?;
            self.go_on(slot, floor)?;
            self.feed(slot, floor, len, Rows::Chunk)?;
        }
        self.next.fill(self.prompt[len.min(self.room - 1)]);
        (0..self.tables.len()).try_for_each(|slot| self.go_on(slot, len))?;
        self.len = len;
        Ok(())
    }

    /// Keeps the pages of window groups at the present length.
    fn set_mark(&mut self) -> Result<()> {
        let Device { caches, .. } = self.scheduler.device();
        if caches.groups().len() < 2 {
            return Ok(());
        }
        for tables in self.mark.iter_mut().flat_map(|(_, marks)| marks) {
            caches.release(tables)?;
        }
        let marks = self.tables.iter().map(|tables| caches.mark(tables)).collect::<Result<_, _>>()?;
        self.mark = Some((self.len, marks));
        Ok(())
    }

    /// Goes back to the pages of a mark at this length, or to the largest length up to it that the pages allow.
    fn back(&mut self, slot: usize, len: usize) -> Result<usize> {
        let Steps { scheduler, tables, mark, .. } = self;
        let (Device { caches, .. }, tables) = (scheduler.device(), &mut tables[slot]);
        match mark {
            Some((mark, marks)) if *mark == len => caches.back(tables, &marks[slot])?,
            _ => {}
        }
        let floor = caches.floor(tables, len);
        if caches.groups().len() > 1 {
            caches.shrink(tables, floor)?;
        }
        Ok(floor)
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
            drop(self.discard());
        }
        let caches = self.scheduler.device().caches;
        for tables in self.tables.iter_mut().chain(self.mark.iter_mut().flat_map(|(_, marks)| marks)) {
            let released = caches.release(tables);
            debug_assert!(released.is_ok(), "{released:?}");
        }
    }
}
