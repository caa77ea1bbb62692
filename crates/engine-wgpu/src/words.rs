//! The check of a step before it runs: a shader can't refuse anything.

use inkstone_compute::{Arg, Error, Plan, Region, Result, Step};
use inkstone_tensor::ops::{By, HISTORY, Sample, Window};
use inkstone_tensor::step::carry::CARRY;
use inkstone_tensor::step::{GROUPS, LAST, Row, StepError, StepView, page};
use inkstone_tensor::{Op, Sizes, Type, Visible};

/// The things that a plan reads by the words of a step.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// The rows of the smallest table of tokens.
    tokens: Option<usize>,
    /// The rows of the smallest table of positions.
    positions: Option<usize>,
    /// The carry, if the plan reads one.
    pub(crate) carry: Option<u32>,
    /// The draws of the plan.
    sample: Option<Sample>,
    /// Whether the plan lets lengths grow.
    pub(crate) advances: bool,
    /// Places of the caches of each layer group that the plan writes or reads.
    places: [Option<usize>; GROUPS],
    /// The widest window of the attention over each layer group.
    windows: [Option<Window>; GROUPS],
}

impl Reads {
    /// Of a plan.
    pub(crate) fn of(plan: &Plan) -> Reads {
        let mut reads = Reads::default();
        for step in &plan.steps {
            let ins: Vec<Type> = step.ins().map(|a| a.ty).collect();
            reads.step(step, &ins);
            step.args.iter().for_each(|arg| reads.arg(arg, &plan.bucket));
        }
        reads
    }

    fn step(&mut self, step: &Step, ins: &[Type]) {
        let mut op = |op: &Op, ins: &[Type]| match op {
            Op::Embed(embed) => {
                let table = ins.get(1).map_or(0, |table| table.rows.at(&Sizes::default()));
                let least = if embed.by == By::Token { &mut self.tokens } else { &mut self.positions };
                *least = Some(least.map_or(table, |least| least.min(table)));
            }
            Op::Advance(_) => self.advances = true,
            Op::Attend(op) => {
                let window = &mut self.windows[ins.get(1).map_or(0, |cache| cache.rows.group()).min(GROUPS - 1)];
                let (own, other) = (op.window.unwrap_or(Window::ALL), window.unwrap_or_default());
                *window = Some(Window { size: own.size.max(other.size), first: own.first.max(other.first) });
            }
            Op::Sample(op) => self.sample = Some(*op),
            _ => {}
        };
        match &step.op {
            Op::Region(region) => region.body.nodes.iter().for_each(|node| {
                op(&node.op, &node.ins.iter().map(|value| region.body.ty(*value)).collect::<Vec<_>>());
            }),
            single => op(single, ins),
        }
    }

    fn arg(&mut self, arg: &Arg, bucket: &Sizes) {
        if let Region::State(id) = arg.region
            && arg.ty == CARRY
        {
            self.carry = Some(id);
        }
        if let (Region::State(_), inkstone_tensor::Dim::Slots { group, .. }) = (arg.region, arg.ty.rows) {
            let places = bucket.slots.of(group);
            self.places[group] = Some(self.places[group].map_or(places, |known| known.min(places)));
        }
    }

    /// Checks the words of a step for a plan. `lengths` are the lengths of sequences, by slot. If `grown`, the words and the
    /// lengths were checked before, and only rows were added since.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub(crate) fn check(&self, plan: &Plan, view: &StepView, lengths: &[u32], grown: bool) -> Result<()> {
        let (sizes, bucket) = (view.sizes(plan.bucket.slots), plan.bucket);
        let counts = [("rows", sizes.rows, bucket.rows), ("logit rows", sizes.logit_rows, bucket.logit_rows)];
        if let Some((what, value, limit)) = counts.into_iter().find(|(_, value, limit)| value > limit) {
            return Err(Error::TooLarge { what, value, limit, plan: plan.name.clone() });
        }
        if let Some(tokens) = self.tokens {
            let unknown = |token: &&u32| **token != LAST && **token as usize >= tokens;
            if let Some(token) = view.feed.iter().find(unknown) {
                let value = *token as usize;
                return Err(StepError { what: "token", value, allowed: tokens.checked_sub(1) }.into());
            }
        }
        for seq in view.seqs.iter().filter(|seq| seq.rows > 0) {
            let length = lengths.get(seq.slot as usize).copied().unwrap_or(0) as usize;
            let end = length + seq.rows as usize;
            below("length of a sequence", end, u32::MAX as usize)?;
            if let Some(positions) = self.positions {
                below("position", end - 1, positions)?;
            }
        }
        if let Some(sample) = self.sample {
            self.check_draws(sample, view, lengths)?;
        }
        (0..GROUPS).try_for_each(|group| self.check_group(view, group, lengths, grown))
    }

    /// The pages of the tokens that draws read.
    fn check_draws(&self, sample: Sample, view: &StepView, lengths: &[u32]) -> Result<()> {
        let group = HISTORY.rows.group();
        let (Some(places), size) = (self.places[group], view.header.page as usize) else { return Ok(()) };
        for logits in view.logits {
            let seq = &view.seqs[logits.seq as usize];
            let length = lengths.get(seq.slot as usize).copied().unwrap_or(0);
            let row = Row { token: 0, position: length.saturating_add(logits.row - seq.first_row), seq: logits.seq };
            let Ok(sampler) = sample.sampler(view, row) else { continue };
            let (reads, table) = (sampler.reads(row.position as usize), view.table(logits.seq as usize, group));
            let pages = reads.start / size..reads.end.div_ceil(size);
            for index in pages.filter(|_| !reads.is_empty()) {
                page(table, index, places / size)?;
            }
        }
        Ok(())
    }

    /// The pages of tables and copies in a layer group: those that rows write, and those that they read.
    fn check_group(&self, view: &StepView, group: usize, lengths: &[u32], grown: bool) -> Result<()> {
        let Some(places) = self.places[group] else { return Ok(()) };
        let size = view.header.page as usize;
        let pages = places / size;
        // A plan without a carry has no positions, and only copies.
        let seqs = if self.carry.is_some() { view.seqs } else { &[] };
        for (i, seq) in seqs.iter().enumerate().filter(|(_, seq)| seq.rows > 0) {
            let length = lengths.get(seq.slot as usize).copied().unwrap_or(0) as usize;
            let (last, table) = (length + seq.rows as usize - 1, view.table(i, group));
            let read = match self.windows[group].filter(|_| !grown) {
                Some(window) => window.visible(length).join(window.visible(last)),
                None => Visible::new(0, length, last + 1),
            };
            read.pages(size).try_for_each(|index| page(table, index, pages).map(drop))?;
        }
        view.copies_in(group).try_for_each(|copy| copy.pages(pages).map(drop))?;
        Ok(())
    }
}

fn below(what: &'static str, value: usize, limit: usize) -> Result<(), StepError> {
    if value < limit { Ok(()) } else { Err(StepError { what, value, allowed: limit.checked_sub(1) }) }
}
