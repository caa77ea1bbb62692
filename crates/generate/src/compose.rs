//! The composition of a step.

use crate::Result;
use crate::flight::{Rows, Wish};
use crate::host::Drawer;
use crate::scheduler::Scheduler;
use crate::sequence::{Goal, Sequence};
use inkstone_tensor::step::{LAST, LogitWish, SeqStep};

impl Scheduler {
    /// Composes a step. Decodes come first, so that a long prompt does not delay them; prompts fill the rest of the
    /// rows, the oldest first. The step is empty if no sequence can continue, or if pages are missing until the steps
    /// under way have landed.
    ///
    /// # Errors
    /// The states of the device are unknown.
    pub(crate) fn compose(&mut self) -> Result<()> {
        self.step.clear();
        self.plan();
        if !self.secure() {
            return Ok(());
        }
        for at in 0..self.plan.len() {
            let (slot, rows) = self.plan[at];
            self.push(slot, rows)?;
        }
        Ok(())
    }

    /// Chooses the sequences of the next step and the numbers of their rows.
    fn plan(&mut self) {
        self.plan.clear();
        // A sequence that needs a step of its own comes before all others.
        while let Some(id) = self.alone.pop_front() {
            let Some(slot) = self.slot_of(id) else { continue };
            if let Err(error) = self.look_up(slot) {
                self.fail(slot, error.into());
            }
            if let Some(s) = self.running[slot].as_ref().filter(|s| s.can_continue()) {
                let most = if s.fresh() == 0 { 1 } else { self.pace.rows(false) };
                self.plan.push((slot, s.rows(most.min(self.budget))));
                return;
            }
        }
        for (slot, s) in self.running.iter().enumerate() {
            if s.as_ref().is_some_and(|s| s.decodes() && s.can_continue()) && self.plan.len() < self.budget {
                self.plan.push((slot, 1));
            }
        }
        let decoding = !self.plan.is_empty();
        let mut room = self.budget - self.plan.len();
        let mut left = self.pace.rows(decoding);
        let mut before = None;
        while let Some(slot) = self.next_prompt(before).filter(|_| left > 0 && room > 0) {
            let Some(s) = &self.running[slot] else { return };
            before = Some(s.id);
            if self.waits_for_prefix(slot) {
                continue;
            }
            if let Err(error) = self.look_up(slot) {
                self.fail(slot, error.into());
                continue;
            }
            let Some(s) = &self.running[slot] else { continue };
            // Nobody reads logits before all of them are there.
            let paced = decoding || s.shares();
            let rows = s.rows(if paced { left.min(room) } else { room });
            (left, room) = (left.saturating_sub(rows), room - rows);
            self.plan.push((slot, rows));
            self.note_parts(slot);
        }
    }

    /// The slot of the oldest sequence after another one that has tokens to feed.
    fn next_prompt(&self, after: Option<u64>) -> Option<usize> {
        let prompts = self.running.iter().enumerate().filter_map(|(slot, s)| Some((slot, s.as_ref()?)));
        let later = prompts.filter(|(_, s)| !s.decodes() && after.is_none_or(|id| s.id > id) && s.can_continue());
        later.min_by_key(|(_, s)| s.id).map(|(slot, _)| slot)
    }

    /// Adds the next rows of a sequence to the step. Its slot is set up in its first step.
    fn push(&mut self, slot: usize, rows: usize) -> Result<()> {
        let groups = self.caches.groups().len();
        let Scheduler { running, runner, step, counts, .. } = self;
        let Some(s) = &mut running[slot] else { return Ok(()) };
        if !s.begun {
            let (left, ends) = match &s.goal {
                Goal::Draw(draw) => {
                    // A draw of the host comes before all draws of the device.
                    let drawn = s.draws + u64::from(s.drawer != Drawer::Device);
                    (draw.limit.saturating_sub(drawn), draw.ends.as_slice())
                }
                Goal::Logits => (0, &[][..]),
                Goal::Score(_) => (u64::MAX, &[][..]),
            };
            runner.admit(slot, s.fed, left, ends)?;
            s.begun = true;
            // A request counts once, even if it begins anew.
            if s.shares() && !std::mem::replace(&mut s.counted, true) {
                counts.prefix_cache_queries += s.known as u64;
                counts.prefix_cache_hits += s.fed as u64;
                s.output.lock().usage.cached_tokens = s.fed as u64;
            }
        }
        let fresh = s.fresh();
        let whole = rows >= fresh;
        let drawing = s.goal.sampling().filter(|_| whole);
        let (logits, wish, sampler) = match (drawing, &s.goal) {
            (Some(_), _) if s.drawer != Drawer::Device => (LogitWish::Last, Wish::Draw, None),
            (Some(sampling), _) => {
                let wish = if sampling.scored { Wish::Scores } else { Wish::Nothing };
                (LogitWish::Last, wish, Some(sampling.words))
            }
            // Logits that were given before a preemption are not computed again.
            (None, Goal::Logits) if s.fed >= s.given => (LogitWish::All, Wish::Logits, None),
            (None, _) => (LogitWish::None, Wish::Nothing, None),
        };
        let tokens = if fresh == 0 { &[LAST][..] } else { &s.tokens[s.fed..s.fed + rows] };
        for (group, copy) in s.copies.iter().enumerate() {
            copy.iter().for_each(|copy| step.copy(group, *copy));
        }
        let tables = &s.tables.pages()[..groups];
        let kind = match whole {
            true if s.decodes() => Rows::Decode,
            true => Rows::Rest,
            false => Rows::Chunk,
        };
        step.push(s.id, s.fed, kind, wish, &SeqStep { slot, tokens, tables, logits, sampler });
        Ok(())
    }
}

impl Sequence {
    /// The number of rows of its next step, of which `most` fit into the step.
    fn rows(&self, most: usize) -> usize {
        let rows = self.fresh().max(1).min(self.chunk()).min(most);
        match self.goal {
            Goal::Logits if self.fed < self.given => rows.min(self.given - self.fed),
            _ => rows,
        }
    }
}
