//! The promises of a queue: the order of writes and submits, the ranges that a submit brings back, and the errors of
//! work that fails.

use super::plan::{How, PlanBuilder};
use super::rig::{MadeWeights, Rig};
use super::values::Random;
use super::{CaseResult, Outcome, Report, Stop, bucket, candidates};
use crate::engine::Engine;
use crate::plan::{Plan, Port, Region};
use crate::queue::{Back, KEPT, Ticket};
use crate::{Error, Result};
use inkstone_tensor::ops::{Advance, BeginStep, By, Embed};
use inkstone_tensor::step::{LogitWish, ROWS, SeqStep, StepBuffer, carry};
use inkstone_tensor::{Dim, Op, Sizes, Slots, Type};
use std::sync::Arc;

/// Whether the queues of an engine do what [`Queue`](crate::Queue) promises.
pub fn queue(engine: &dyn Engine) -> Report {
    Report { engine: engine.caps().name.clone(), results: results(engine).collect() }
}

pub(super) fn results(engine: &dyn Engine) -> impl Iterator<Item = CaseResult> {
    CHECKS.iter().map(move |(name, check)| {
        let mut kernels = Vec::new();
        let outcome = Bench::new(engine, &mut kernels).and_then(|mut bench| check(&mut bench));
        let outcome = outcome.err().map_or(Outcome::Passed, Stop::outcome);
        CaseResult { case: format!("queue, {name}"), kernels: kernels.join(", "), seed: 0, host: 0, outcome }
    })
}

type Check = fn(&mut Bench) -> Result<(), Stop>;

const CHECKS: &[(&str, Check)] = &[
    ("six submits before the first fetch", six_submits),
    ("fetches out of order", out_of_order),
    ("writes are copied", writes_are_copied),
    ("writes keep their place", writes_keep_their_place),
    ("a range is fetched once", once),
    ("ranges are checked", ranges_are_checked),
    ("the last submits keep their ranges", the_last_are_kept),
    ("a failure is told", a_failure_is_told),
    ("two queues", two_queues),
    ("reads come last", reads_come_last),
];

/// Tokens that steps may have.
const VOCABULARY: u32 = 19;
/// A token that makes a step fail.
const INVALID: u32 = VOCABULARY;

/// A plan whose result shows the words that it found and the runs before it: the token of the step and its position,
/// which grows by one in each run.
struct Bench<'a> {
    engine: &'a dyn Engine,
    rig: Rig,
    /// Runs so far.
    runs: u32,
}

/// A token and its position.
type Seen = (u32, u32);

impl<'a> Bench<'a> {
    fn new(engine: &'a dyn Engine, kernels: &mut Vec<String>) -> Result<Bench<'a>, Stop> {
        let caps = engine.caps();
        let (Some(rows), Some(logit_rows)) = (bucket(&caps.rows, 1), bucket(&caps.logit_rows, 1)) else {
            return Err(Stop::Skipped("no buckets".to_owned()));
        };
        let bucket = Sizes { rows, logit_rows, slots: Slots::one_group(8) };
        let mut plan = PlanBuilder::new("queue", bucket);
        let mut weights = MadeWeights::default();
        let mut chosen = |op: &Op, ins: &[Type], weights: &[Type]| {
            let (found, refusals) = candidates(engine, op, ins, weights, rows);
            let first = found.first().map(|(kernel, layout)| ((*kernel).clone(), *layout));
            kernels.extend(first.iter().map(|(kernel, _)| kernel.name.to_owned()));
            first.ok_or(Stop::Skipped(refusals))
        };
        let carry = plan.state("carry", carry::CARRY);
        let table_type = Type::f32(Dim::N(VOCABULARY as usize), 8);
        let (begin, embed, advance) = (Op::from(BeginStep), Op::from(Embed { by: By::Token }), Op::from(Advance));
        let [(first, _), (second, layout), (third, _)] = [
            chosen(&begin, &[carry.ty], &[])?,
            chosen(&embed, &[ROWS, table_type], &[table_type])?,
            chosen(&advance, &[carry.ty, ROWS], &[])?,
        ];
        weights.insert("table", &Random::new(1).array(&table_type, &Sizes::default()));
        let table = plan.weight("table", table_type, layout, second.numerics);
        let seen = plan.port(Port::ROWS, ROWS);
        let embedded = plan.port(Port::HIDDEN, Type::f32(Dim::Rows, 8));
        let how = |kernel, op: &Op, ins: &[Type]| How::by(kernel, op, ins, bucket, caps);
        plan.step(how(&first, &begin, &[carry.ty])?, begin, &[carry], &[seen])?;
        plan.step(how(&second, &embed, &[seen.ty, table.ty])?, embed, &[seen, table], &[embedded])?;
        plan.step(how(&third, &advance, &[carry.ty, seen.ty])?, advance, &[carry, seen], &[])?;
        let plan: Arc<Plan> = Arc::new(plan.finish());
        Ok(Bench { engine, rig: Rig::new(engine, &plan, &weights)?, runs: 0 })
    }

    /// The words of a step with this token.
    fn words(token: u32) -> Vec<u32> {
        let mut buffer = StepBuffer::with_capacity(8, 1, 1, 0);
        let (tokens, table): ([u32; 1], &[u32]) = ([token], &[0]);
        let tables = &[table];
        buffer.push(&SeqStep { slot: 0, tokens: &tokens, tables, logits: LogitWish::None, sampler: None });
        buffer.encode(0, 0).to_vec()
    }

    fn write(&mut self, token: u32) -> Result<()> {
        let step = self.rig.bind.step.clone();
        self.rig.queue.write(&step, 0, bytemuck::cast_slice(&Self::words(token)))
    }

    /// The range with the result.
    fn seen(&self) -> Result<Back> {
        Ok(Back::new(self.rig.buffer(Region::Port(Port::ROWS))?, 0, 8))
    }

    fn submit(&mut self, back: &[Back]) -> Result<Ticket> {
        let ticket = self.rig.queue.submit(&self.rig.executable, back)?;
        self.runs += 1;
        Ok(ticket)
    }

    /// Writes and submits a step; its ticket and what it should bring back.
    fn run(&mut self, token: u32) -> Result<(Ticket, Seen)> {
        self.write(token)?;
        let (back, wanted) = (self.seen()?, (token, self.runs));
        Ok((self.submit(&[back])?, wanted))
    }

    fn fetch(&mut self, ticket: Ticket) -> Result<Seen> {
        let mut words = [0u32; 2];
        self.rig.queue.fetch(ticket, 0, bytemuck::cast_slice_mut(&mut words))?;
        Ok((words[0], words[1]))
    }

    fn expect(&mut self, (ticket, wanted): (Ticket, Seen)) -> Result<(), Stop> {
        equal(self.fetch(ticket)?, wanted)
    }
}

fn equal<T: PartialEq + std::fmt::Debug>(found: T, wanted: T) -> Result<(), Stop> {
    if found == wanted { Ok(()) } else { Err(Stop::Failed(format!("{found:?} instead of {wanted:?}"))) }
}

fn refused<T: std::fmt::Debug>(what: &str, result: Result<T>) -> Result<(), Stop> {
    match result {
        Ok(value) => Err(Stop::Failed(format!("{what} gives {value:?} instead of an error"))),
        Err(_) => Ok(()),
    }
}

fn six_submits(b: &mut Bench) -> Result<(), Stop> {
    let submitted: Vec<_> = (0..6).map(|token| b.run(token)).collect::<Result<_>>()?;
    submitted.into_iter().try_for_each(|submitted| b.expect(submitted))
}

fn out_of_order(b: &mut Bench) -> Result<(), Stop> {
    let submitted: Vec<_> = (0..6).map(|token| b.run(token + 3)).collect::<Result<_>>()?;
    for place in [5, 0, 3, 1, 4, 2] {
        b.expect(submitted[place])?;
    }
    Ok(())
}

fn writes_are_copied(b: &mut Bench) -> Result<(), Stop> {
    let step = b.rig.bind.step.clone();
    let mut words = Bench::words(4);
    b.rig.queue.write(&step, 0, bytemuck::cast_slice(&words))?;
    words.fill(u32::MAX);
    let back = b.seen()?;
    let ticket = b.submit(&[back])?;
    b.expect((ticket, (4, 0)))
}

/// What is written behind a submit is for the next one, and an unchanged step buffer serves several.
fn writes_keep_their_place(b: &mut Bench) -> Result<(), Stop> {
    let first = b.run(1)?;
    let back = b.seen()?;
    let (second, third) = (b.submit(std::slice::from_ref(&back))?, b.submit(&[back])?);
    b.write(7)?;
    b.expect((third, (1, 2)))?;
    b.expect((second, (1, 1)))?;
    b.expect(first)?;
    let back = b.seen()?;
    let fourth = b.submit(&[back])?;
    b.expect((fourth, (7, 3)))
}

fn once(b: &mut Bench) -> Result<(), Stop> {
    let (first, second) = (b.run(1)?, b.run(2)?);
    b.expect(first)?;
    b.expect(second)?;
    refused("a second fetch of the last range", b.fetch(second.0))?;
    refused("a second fetch of an earlier range", b.fetch(first.0))?;
    let third = b.run(3)?;
    refused("a second fetch after more work", b.fetch(second.0))?;
    b.expect(third)
}

fn ranges_are_checked(b: &mut Bench) -> Result<(), Stop> {
    b.write(2)?;
    let (good, mut outside) = (b.seen()?, b.seen()?);
    outside.offset = outside.buffer.bytes() - 4;
    refused("a range past the end", b.rig.queue.submit(&b.rig.executable, &[good.clone(), outside]))?;
    let ticket = b.submit(&[good.clone(), Back { offset: 4, bytes: 4, ..good }])?;
    let (mut short, mut long) = ([0u8; 4], [0u8; 16]);
    refused("a range in a smaller place", b.rig.queue.fetch(ticket, 0, &mut short))?;
    refused("a range in a larger place", b.rig.queue.fetch(ticket, 0, &mut long))?;
    refused("a range that was not asked for", b.rig.queue.fetch(ticket, 2, &mut short))?;
    refused("a ticket that was never given", b.rig.queue.fetch(Ticket(ticket.0 + 1000), 0, &mut short))?;
    refused("a wait for it", b.rig.queue.wait(Ticket(ticket.0 + 1000)))?;
    // What is refused does not use the range up, and the refused submit did not run.
    b.expect((ticket, (2, 0)))?;
    b.rig.queue.fetch(ticket, 1, &mut short)?;
    equal(short, 0u32.to_ne_bytes())
}

fn the_last_are_kept(b: &mut Bench) -> Result<(), Stop> {
    let old = b.run(0)?;
    let mut kept = Vec::new();
    for i in 0..KEPT as u32 {
        kept.push(b.run(1 + i)?);
        // Submits that bring nothing back push nothing out.
        b.submit(&[])?;
    }
    refused("a range of too old a submit", b.fetch(old.0))?;
    b.rig.queue.wait(old.0)?;
    kept.into_iter().try_for_each(|kept| b.expect(kept))
}

fn a_failure_is_told(b: &mut Bench) -> Result<(), Stop> {
    b.write(INVALID)?;
    let back = b.seen()?;
    let failed = b.submit(&[back]);
    let good = b.run(5);
    // An engine may find the fault at once.
    if let Ok(ticket) = failed {
        for _ in 0..2 {
            refused("a fetch of failed work", b.fetch(ticket))?;
            refused("a wait for failed work", b.rig.queue.wait(ticket))?;
        }
    }
    let good = good?.0;
    equal(b.fetch(good)?.0, 5)?;
    let next = b.run(6)?.0;
    b.rig.queue.wait(next)?;
    if let Ok(ticket) = failed {
        refused("a wait for failed work behind good work", b.rig.queue.wait(ticket))?;
    }
    equal(b.fetch(next)?.0, 6)
}

fn two_queues(b: &mut Bench) -> Result<(), Stop> {
    let mut other = b.engine.queue()?;
    let (first, back, step) = (b.run(1)?, b.seen()?, b.rig.bind.step.clone());
    b.rig.queue.wait(first.0)?;
    other.write(&step, 0, bytemuck::cast_slice(&Bench::words(2)))?;
    let second = other.submit(&b.rig.executable, &[back])?;
    b.runs += 1;
    other.wait(second)?;
    let third = b.run(3)?;
    let mut words = [0u32; 2];
    b.expect(first)?;
    other.fetch(second, 0, bytemuck::cast_slice_mut(&mut words))?;
    equal(words, [2, 1])?;
    drop(other);
    b.expect(third)
}

fn reads_come_last(b: &mut Bench) -> Result<(), Stop> {
    (0..5).try_for_each(|token| b.run(token).map(drop))?;
    let (seen, mut words) = (b.seen()?, [0u32; 2]);
    b.rig.queue.read(&seen.buffer, 0, bytemuck::cast_slice_mut(&mut words))?;
    equal(words, [4, 4])?;
    let past = b.rig.queue.read(&seen.buffer, seen.buffer.bytes(), bytemuck::cast_slice_mut(&mut words));
    match past {
        Err(Error::OutOfBuffer { .. }) => Ok(()),
        other => Err(Stop::Failed(format!("a read past the end gives {other:?}"))),
    }
}

#[cfg(test)]
mod tests;
