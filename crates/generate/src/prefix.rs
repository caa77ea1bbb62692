//! The reuse of keys and values in the cache. The rows of a prompt are shared by every step that is launched after their own: the
//! queue runs the steps in order.

use crate::scheduler::Scheduler;
use crate::sequence::{Goal, Sequence};
use inkstone_kvcache::Error;

impl Scheduler {
    /// Looks up the beginning of a sequence that is about to begin, and takes the pages that hold it. At least one token
    /// is left to compute. The place where texts part is usually inside a page, whose beginning will be copied.
    pub(crate) fn look_up(&mut self, slot: usize) -> Result<(), Error> {
        let Scheduler { running, tree, pool, found, .. } = self;
        let Some(s) = running[slot].as_mut().filter(|s| s.shares() && !s.looked_up) else { return Ok(()) };
        s.looked_up = true;
        let known = &s.tokens[..s.known];
        let hit = tree.find(s.salt, known, known.len() - 1, found);
        found.extend(hit.partial.map(|partial| partial.page));
        pool.adopt(&mut s.table, found, hit.tokens)?;
        s.fed = hit.tokens;
        Ok(())
    }

    /// Whether a sequence that is about to begin waits for an earlier one, which is computing pages that both share.
    pub(crate) fn waits_for_prefix(&self, s: &Sequence) -> bool {
        let page = self.pool.page();
        let earlier = self.running.iter().flatten().filter(|e| e.id < s.id && e.salt == s.salt && e.shares());
        let earlier = earlier.filter(|e| !e.decodes() && e.can_continue());
        s.shares() && !s.looked_up && {
            // At least a page beyond what is there, and a token is left to compute.
            let next = |e: &Sequence| (e.fed / page + 1) * page;
            let shared = |e: &&Sequence| {
                let end = next(e);
                end <= e.known && end < s.known && e.tokens[..end] == s.tokens[..end]
            };
            earlier.filter(shared).count() > 0
        }
    }

    /// Offers the first tokens of a sequence, whose rows have been launched, to others.
    pub(crate) fn offer(&mut self, slot: usize, tokens: usize) {
        let Scheduler { running, tree, pool, .. } = self;
        let Some(s) = running[slot].as_mut().filter(|s| s.shares() && tokens > s.offered) else { return };
        let offered = tree.insert(pool, s.salt, &mut s.table, &s.tokens[..tokens]);
        debug_assert!(offered.is_ok(), "{offered:?}");
        s.offered = tokens;
    }

    /// Offers the tokens of a sequence that gives back its pages. The token drawn last is not among them: no row has
    /// computed it, or a step behind the end may compute it again. Nor are tokens in a page whose copy was not launched.
    pub(crate) fn offer_all(&mut self, slot: usize) {
        let Some(s) = self.running[slot].as_ref().filter(|s| s.begun && s.copy.is_none()) else { return };
        let drawn = matches!(s.goal, Goal::Draw(_)) && s.tokens.len() > s.prompt;
        let tokens = s.fed.min(s.tokens.len() - usize::from(drawn));
        self.offer(slot, tokens);
    }

    /// Gives up the page whose beginning would be copied, so that no page has to be held twice. Returns false if there is
    /// none.
    pub(crate) fn give_up_copy(&mut self, slot: usize) -> bool {
        let Scheduler { running, pool, .. } = self;
        let page = pool.page();
        let Some(s) = running[slot].as_mut().filter(|s| !s.begun && !s.fed.is_multiple_of(page)) else { return false };
        s.fed -= s.fed % page;
        s.copy = None;
        let given = pool.release(&mut s.source).and_then(|()| pool.shrink(&mut s.table, s.fed));
        debug_assert!(given.is_ok(), "{given:?}");
        true
    }

    /// Makes the pages of the next rows of a sequence its own: others may share the page in which it goes on. The
    /// source of a copy is held until the copy is launched.
    pub(crate) fn own(&mut self, slot: usize, rows: usize) -> Result<(), Error> {
        let Scheduler { running, pool, copies, .. } = self;
        let Some(s) = &mut running[slot] else { return Ok(()) };
        copies.clear();
        pool.write(&mut s.table, s.fed..s.fed + rows, copies)?;
        if let Some(copy) = copies.pop() {
            debug_assert!(s.copy.is_none(), "a sequence goes on in one page");
            let len = s.source.len() + pool.page();
            pool.adopt(&mut s.source, &[copy.from], len)?;
            s.copy = Some(copy);
        }
        Ok(())
    }

    /// Gives back the pages of a sequence, and the source of its copy.
    pub(crate) fn give_back(&mut self, s: &mut Sequence) {
        s.copy = None;
        for table in [&mut s.table, &mut s.source] {
            let released = self.pool.release(table);
            debug_assert!(released.is_ok(), "{released:?}");
        }
    }
}

impl Sequence {
    /// Whether it shares pages with other sequences.
    pub fn shares(&self) -> bool {
        !matches!(self.goal, Goal::Logits)
    }
}
