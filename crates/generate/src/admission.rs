//! The sequences that run: admission, preemption, and ends that the caller requests.

use crate::request::list_words;
use crate::scheduler::Scheduler;
use crate::sequence::Sequence;
use crate::{Error, FinishReason};
use inkstone_kvcache::Error as CacheError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Scheduler {
    /// Takes new sequences, in the order of their arrival.
    pub fn wait_for_slots(&mut self, new: &mut Vec<Sequence>) {
        for s in new.drain(..) {
            self.counts.prompt_tokens += s.prompt as u64;
            self.waiting.push_back(s);
        }
        // Sequences that give up their slots also wait.
        self.waiting.reserve(self.running.len());
        self.fail_if_closed();
        self.queued.store(self.waiting.len(), Ordering::Relaxed);
    }

    /// Ends the sequences that their callers have ended, and sequences past their deadline.
    pub fn sweep(&mut self) {
        for slot in 0..self.running.len() {
            if let Some(reason) = self.running[slot].as_ref().and_then(Sequence::interrupted) {
                self.finish(slot, reason);
            }
        }
        let mut at = 0;
        while let Some(s) = self.waiting.get_mut(at) {
            let Some(reason) = s.interrupted() else {
                at += 1;
                continue;
            };
            s.end(reason);
            if let Some(s) = self.waiting.remove(at) {
                self.ended(&s);
            }
        }
    }

    fn finish(&mut self, slot: usize, reason: FinishReason) {
        if let Some(s) = &mut self.running[slot] {
            s.end(reason);
        }
        self.free(slot);
    }

    /// Admits waiting sequences in their order while there are slots, pages for all their tokens and one more for each
    /// running sequence, and room for their lists in a step. A sequence whose reader is behind is passed by the others; if
    /// one of these is short, it gives up its own.
    pub(crate) fn admit(&mut self) {
        let mut at = 0;
        while let Some(next) = self.waiting.get(at) {
            if next.is_full() {
                at += 1;
                continue;
            }
            let slot = self.running.iter().position(Option::is_none);
            let fits = self.has_pages(next) && self.has_room_for_lists(next);
            let Some(slot) = slot.filter(|_| fits) else {
                match self.running.iter().position(|s| s.as_ref().is_some_and(Sequence::is_behind)) {
                    Some(slot) => self.preempt(slot),
                    None => return,
                }
                // The preempted sequence may have arrived earlier.
                at = 0;
                continue;
            };
            let Some(mut s) = self.waiting.remove(at) else { return };
            if let Err(error) =
                self.caches.reserve(&mut s.tables, s.reach).and_then(|()| self.caches.reserve(&mut s.sources, 1))
            {
                s.fail(Arc::new(error.into()));
                self.ended(&s);
                continue;
            }
            self.running[slot] = Some(s);
        }
    }

    /// Whether the lists of a sequence fit into a step, next to those of the running sequences.
    fn has_room_for_lists(&self, s: &Sequence) -> bool {
        let used: usize = self.running.iter().flatten().map(Sequence::list_words).sum();
        used + s.list_words() <= list_words(self.runner.vocab())
    }

    /// Whether each layer group has the pages of a sequence, and those that running sequences will soon need: all of those that
    /// have not begun, and one of each other.
    fn has_pages(&self, s: &Sequence) -> bool {
        let caches = &self.caches;
        (0..caches.groups().len()).all(|group| {
            let all = |s: &Sequence| caches.pages_of(group, s.known, self.budget);
            let promised: usize = self.running.iter().flatten().map(|s| if s.begun { 1 } else { all(s) }).sum();
            all(s) + promised <= caches.pool(group).available()
        })
    }

    /// Takes the slot and the pages of a sequence that has no step under way. It keeps its tokens and its place in the
    /// queue, and computes them again later: with the same bits, since a row depends only on its sequence.
    pub(crate) fn preempt(&mut self, slot: usize) {
        self.offer_all(slot);
        let Some(mut s) = self.running[slot].take() else { return };
        debug_assert_eq!(s.flights, 0, "its tokens are known");
        self.give_back(&mut s);
        s.rewind();
        self.counts.preemptions += 1;
        let at = self.waiting.iter().position(|w| w.id > s.id).unwrap_or(self.waiting.len());
        self.waiting.insert(at, s);
    }

    /// The sequence that gives up its pages if there are none left: one whose reader is behind, else the newest.
    fn victim(&self) -> Option<usize> {
        let running = || self.running.iter().enumerate().filter_map(|(slot, s)| Some((slot, s.as_ref()?)));
        let behind = running().find(|(_, s)| s.is_behind());
        behind.or_else(|| running().max_by_key(|(_, s)| s.id)).map(|(slot, _)| slot)
    }

    /// Secures the pages of all sequences of the plan, or takes those out of it that give up their pages. Returns false
    /// if steps that are under way have to land first.
    pub(crate) fn secure(&mut self) -> bool {
        let mut at = 0;
        while let Some(&(slot, rows)) = self.plan.get(at) {
            if self.running[slot].is_none() {
                self.plan.remove(at);
                continue;
            }
            match self.secure_slot(slot, rows) {
                Ok(()) => at += 1,
                Err(CacheError::NoPages { .. }) => {
                    if self.give_up_copy(slot) {
                        continue;
                    }
                    if !self.flights.is_empty() {
                        return false;
                    }
                    match self.victim() {
                        Some(victim) => self.preempt(victim),
                        None => return false,
                    }
                }
                Err(error) => self.fail(slot, error.into()),
            }
        }
        true
    }

    /// Secures the pages of the next rows of a sequence. Its first step needs the pages of all its tokens, so that it is
    /// not stuck within its prompt.
    fn secure_slot(&mut self, slot: usize, rows: usize) -> Result<(), CacheError> {
        let Some(s) = &mut self.running[slot] else { return Ok(()) };
        // Rows that no row of this step or a later one sees go back at once: the queue runs the steps before it first.
        self.caches.keep(&mut s.tables, s.fed)?;
        self.caches.grow(&mut s.tables, s.known, s.fed + rows)?;
        self.own(slot, rows)
    }

    /// Ends a running sequence with an error.
    pub(crate) fn fail(&mut self, slot: usize, error: Error) {
        if let Some(s) = &mut self.running[slot] {
            s.fail(Arc::new(error));
        }
        self.free(slot);
    }
}
