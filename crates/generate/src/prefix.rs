//! The reuse of keys and values in the cache. The rows of a prompt are shared by every step that is launched after their own: the
//! queue runs the steps in order.

use crate::scheduler::Scheduler;
use crate::sequence::{Goal, Sequence};
use inkstone_kvcache::Error;

impl Scheduler {
    /// Looks up the beginning of a sequence that is about to begin, and takes the pages that hold it. At least one token
    /// is left to compute. The place where texts part is usually inside a page, whose beginning will be copied.
    pub(crate) fn look_up(&mut self, slot: usize) -> Result<(), Error> {
        let Scheduler { running, caches, .. } = self;
        let Some(s) = running[slot].as_mut().filter(|s| s.shares() && !s.looked_up) else { return Ok(()) };
        s.looked_up = true;
        let found = caches.find(s.salt, &s.tokens[..s.known], s.known - 1, &mut s.tables)?;
        s.fed = found.floor;
        if found.floor < found.hit {
            s.part_at(found.hit);
        }
        Ok(())
    }

    /// Whether a sequence that is about to begin waits for an earlier one, which is computing pages that both share.
    pub(crate) fn waits_for_prefix(&self, slot: usize) -> bool {
        let Some(s) = &self.running[slot] else { return false };
        let mut earlier = self.running.iter().flatten().filter(|e| e.id < s.id && !e.decodes() && e.can_continue());
        earlier.any(|e| e.computes_for(s, self.caches.page()))
    }

    /// Notes where the prompts of sequences that have not begun part from one whose rows are about to be computed: it sets
    /// checkpoints there, since they go on from its rows.
    pub(crate) fn note_parts(&mut self, slot: usize) {
        let Scheduler { running, caches, .. } = self;
        // Only windows need a checkpoint.
        if caches.groups().len() < 2 {
            return;
        }
        for at in 0..running.len() {
            let (Some(s), Some(waiting)) = (&running[slot], &running[at]) else { continue };
            if !s.computes_for(waiting, caches.page()) {
                continue;
            }
            let both = s.tokens[..s.known].iter().zip(&waiting.tokens[..waiting.known - 1]);
            let common = both.take_while(|(a, b)| a == b).count();
            if let Some(s) = &mut running[slot] {
                [common, common / caches.page() * caches.page()].into_iter().for_each(|len| s.part_at(len));
            }
        }
    }

    /// Offers the first tokens of a sequence, whose rows have been launched, to others.
    pub(crate) fn offer(&mut self, slot: usize, tokens: usize) {
        let Scheduler { running, caches, .. } = self;
        let Some(s) = running[slot].as_mut().filter(|s| s.shares() && tokens > s.offered) else { return };
        let offered = caches.insert(s.salt, &mut s.tables, &s.tokens[..tokens]);
        debug_assert!(offered.is_ok(), "{offered:?}");
        s.offered = tokens;
    }

    /// Sets the checkpoints of a prompt whose rows from `before` on have been launched: at its end, where other texts part
    /// from it, and at each [`EVERY`] tokens.
    pub(crate) fn set_checkpoints(&mut self, slot: usize, before: usize) {
        let Scheduler { running, caches, .. } = self;
        let Some(s) = running[slot].as_mut().filter(|s| s.shares()) else { return };
        if caches.groups().len() < 2 {
            return;
        }
        // Where a step ends within a page of another text, the page of the sequence is no node yet: the next step tries again.
        let (fed, tables) = (s.fed, &mut s.tables);
        s.parts.retain(|len| *len > fed || !caches.checkpoint(tables, *len) && *len == fed);
        let new = before + 1..=fed;
        let end = (fed == s.known).then_some(fed);
        let regular = Some(fed / EVERY * EVERY).filter(|len| new.contains(len));
        for len in regular.into_iter().chain(end) {
            caches.checkpoint(&mut s.tables, len);
        }
    }

    /// Offers the tokens of a sequence that gives back its pages. The token drawn last is not among them: no row has
    /// computed it, or a step behind the end may compute it again. Nor are tokens in a page whose copy was not launched.
    pub(crate) fn offer_all(&mut self, slot: usize) {
        let Some(s) = self.running[slot].as_ref().filter(|s| s.begun && !s.has_copies()) else { return };
        let drawn = matches!(s.goal, Goal::Draw(_)) && s.tokens.len() > s.prompt;
        let tokens = s.fed.min(s.tokens.len() - usize::from(drawn));
        self.offer(slot, tokens);
        let Scheduler { running, caches, .. } = self;
        if let Some(s) = running[slot].as_mut().filter(|s| s.shares()) {
            caches.checkpoint(&mut s.tables, tokens);
        }
    }

    /// Gives up the page whose beginning would be copied, so that no page has to be held twice. Returns false if there is
    /// none.
    pub(crate) fn give_up_copy(&mut self, slot: usize) -> bool {
        let Scheduler { running, caches, .. } = self;
        let page = caches.page();
        let Some(s) = running[slot].as_mut().filter(|s| !s.begun && !s.fed.is_multiple_of(page)) else { return false };
        // Without the rows of the page, only the floor below it can be continued.
        s.fed = caches.floor(&s.tables, s.fed - s.fed % page);
        s.copies = Default::default();
        let given = caches.release(&mut s.sources).and_then(|()| caches.shrink(&mut s.tables, s.fed));
        debug_assert!(given.is_ok(), "{given:?}");
        true
    }

    /// Makes the pages of the next rows of a sequence its own: others may share the page in which it goes on. The
    /// sources of copies are held until the copies are launched.
    pub(crate) fn own(&mut self, slot: usize, rows: usize) -> Result<(), Error> {
        let Scheduler { running, caches, copies, .. } = self;
        let Some(s) = &mut running[slot] else { return Ok(()) };
        copies.clear();
        let done = caches.write(&mut s.tables, s.fed..s.fed + rows, copies);
        for (group, copy) in copies.drain(..) {
            debug_assert!(s.copies[group].is_none(), "a sequence goes on in one page");
            caches.hold(&mut s.sources, group, copy)?;
            s.copies[group] = Some(copy);
        }
        done
    }

    /// Gives back the pages of a sequence, and the sources of its copies.
    pub(crate) fn give_back(&mut self, s: &mut Sequence) {
        s.copies = Default::default();
        for tables in [&mut s.tables, &mut s.sources] {
            let released = self.caches.release(tables);
            debug_assert!(released.is_ok(), "{released:?}");
        }
    }
}

/// Tokens of a prompt between checkpoints, so that an edit in a long text computes no more than these anew.
const EVERY: usize = 2048;

impl Sequence {
    /// Whether it shares pages with other sequences.
    pub fn shares(&self) -> bool {
        !matches!(self.goal, Goal::Logits)
    }

    /// Whether its next page of `page` tokens is also one of a sequence that has not begun, and has a token left to compute.
    fn computes_for(&self, waiting: &Sequence, page: usize) -> bool {
        let end = (self.fed / page + 1) * page;
        let can_share = self.salt == waiting.salt && self.shares() && waiting.shares() && !waiting.looked_up;
        can_share && end <= self.known && end < waiting.known && self.tokens[..end] == waiting.tokens[..end]
    }

    /// Whether beginnings of pages are to be copied before its next rows.
    pub fn has_copies(&self) -> bool {
        self.copies.iter().any(Option::is_some)
    }

    /// Notes that another text parts from its prompt at this length.
    fn part_at(&mut self, len: usize) {
        if len > self.fed && len <= self.known && !self.parts.contains(&len) {
            self.parts.push(len);
        }
    }
}
