//! The check of a step before it runs: a shader can't refuse anything.

use inkstone_compute::{Arg, Error, Plan, Region, Result, Step};
use inkstone_tensor::ops::{By, HISTORY};
use inkstone_tensor::step::{GROUPS, LAST, NONE, StepError, StepView};
use inkstone_tensor::{Op, Sizes, Type};

/// What a plan reads by the words of a step.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// The rows of the smallest table of tokens.
    tokens: Option<usize>,
    /// Places of the caches of each layer group that the plan writes or reads.
    places: [Option<usize>; GROUPS],
    /// The layer groups whose whole tables are read.
    whole: [bool; GROUPS],
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
            Op::Embed(embed) if embed.by == By::Token => {
                let table = ins.get(1).map_or(0, |table| table.rows.at(&Sizes::default()));
                self.tokens = Some(self.tokens.map_or(table, |tokens| tokens.min(table)));
            }
            Op::Attend(_) => self.whole[ins.get(1).map_or(0, |cache| cache.rows.group()).min(GROUPS - 1)] = true,
            Op::Sample(_) => self.whole[HISTORY.rows.group()] = true,
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
        if let (Region::State(_), inkstone_tensor::Dim::Slots { group, .. }) = (arg.region, arg.ty.rows) {
            let places = bucket.slots.of(group);
            self.places[group] = Some(self.places[group].map_or(places, |known| known.min(places)));
        }
    }

    /// Checks the words of a step for a plan.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub(crate) fn check(&self, plan: &Plan, words: &[u32]) -> Result<()> {
        let view = StepView::new(words)?;
        let (sizes, bucket) = (view.sizes(plan.bucket.slots), plan.bucket);
        let counts = [("rows", sizes.rows, bucket.rows), ("logit rows", sizes.logit_rows, bucket.logit_rows)];
        if let Some((what, value, limit)) = counts.into_iter().find(|(_, value, limit)| value > limit) {
            return Err(Error::TooLarge { what, value, limit, plan: plan.name.clone() });
        }
        if let Some(tokens) = self.tokens {
            let known = |token: &&u32| **token != LAST && **token as usize >= tokens;
            if let Some(token) = view.feed.iter().find(known) {
                let value = *token as usize;
                return Err(StepError { what: "token", value, allowed: tokens.checked_sub(1) }.into());
            }
        }
        for group in 0..GROUPS {
            if let Some(places) = self.places[group] {
                self.check_group(&view, group, places / view.header.page as usize)?;
            }
        }
        Ok(())
    }

    /// The pages of tables and copies in a layer group.
    fn check_group(&self, view: &StepView, group: usize, pages: usize) -> Result<()> {
        for seq in 0..view.seqs.len() {
            for &page in view.table(seq, group) {
                let what = match page {
                    page if (page as usize) < pages => continue,
                    NONE if !self.whole[group] => continue,
                    NONE => "page that was given back",
                    _ => "page",
                };
                return Err(StepError { what, value: page as usize, allowed: pages.checked_sub(1) }.into());
            }
        }
        view.copies_in(group).try_for_each(|copy| copy.pages(pages).map(drop))?;
        Ok(())
    }
}
