//! The rows of a text in the caches, as bytes whose order no page size changes: state by state, in the order of their
//! names; in each state head by head; in each head position by position. So the places of a head that are contiguous
//! in the device's memory are also contiguous here, and one call moves them.

use crate::scheduler::Scheduler;
use crate::{Error, Result};
use inkstone_compute::Interface;
use inkstone_kvcache::{PageTable, Salt};
use inkstone_tensor::cache::{Cache, RUN};
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::{Dim, Type};
use std::ops::Range;

/// States that have a row for each head and position.
pub(super) struct Paged(Vec<State>);

struct State {
    id: usize,
    heads: usize,
    /// Bytes of a row.
    row: usize,
}

/// Positions whose rows of a head are contiguous in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first position.
    position: usize,
    /// Its place.
    place: usize,
    /// The number of positions.
    len: usize,
}

/// The runs of the first `tokens` positions on these pages of `page` tokens. A run ends where the places of a head do
/// ([`RUN`]).
fn runs(pages: &[u32], page: usize, tokens: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let places = pages.iter().flat_map(|&number| number as usize * page..(number as usize + 1) * page);
    for (position, place) in places.take(tokens).enumerate() {
        match runs.last_mut() {
            Some(run) if run.place + run.len == place && !place.is_multiple_of(RUN) => run.len += 1,
            _ => runs.push(Run { position, place, len: 1 }),
        }
    }
    runs
}

impl Paged {
    /// The caches of keys and values.
    pub fn caches(interface: &Interface) -> Paged {
        Paged::of(interface, |ty| ty != HISTORY)
    }

    /// The history of tokens. A file has no rows of it: kernels may rely on tokens of the vocabulary there, so its rows come
    /// from the tokens of the session, which are checked.
    fn history(interface: &Interface) -> Paged {
        Paged::of(interface, |ty| ty == HISTORY)
    }

    /// The paged states of these types.
    fn of(interface: &Interface, types: impl Fn(Type) -> bool) -> Paged {
        let mut states: Vec<_> = interface.states.iter().enumerate().collect();
        states.sort_unstable_by_key(|(_, s)| &s.name);
        let paged = states.into_iter().filter(|(_, s)| matches!(s.ty.rows, Dim::Slots { .. }) && types(s.ty));
        let state = |(id, s): (usize, &inkstone_compute::StateSlot)| State {
            id,
            heads: s.ty.rows.heads(),
            row: usize::try_from(s.ty.row_bytes()).unwrap_or(usize::MAX),
        };
        Paged(paged.map(state).collect())
    }

    /// The bytes of the rows of a token.
    pub fn token_bytes(&self) -> usize {
        self.0.iter().fold(0, |sum, s| sum.saturating_add(s.heads.saturating_mul(s.row)))
    }

    /// Calls `f` for each contiguous range of `rows`, the rows of `tokens` tokens, with the id of its state, its first
    /// byte in the state, and the range. `slots`: places of a head.
    fn each(
        &self,
        runs: &[Run],
        slots: usize,
        tokens: usize,
        mut f: impl FnMut(usize, u64, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        for &State { id, heads, row } in &self.0 {
            let cache = Cache { heads, slots };
            for head in 0..heads {
                for run in runs {
                    let (from, bytes) = (start + run.position * row, run.len * row);
                    f(id, cache.row(head, run.place) as u64 * row as u64, from..from + bytes)?;
                }
                start += tokens * row;
            }
        }
        Ok(())
    }
}

impl Scheduler {
    /// Looks up the pages of a text. Returns the number of its first tokens whose rows are there; they stay until the
    /// caller's turn ends. Steps that are under way have landed, so that no row comes from a step that fails.
    ///
    /// # Errors
    /// A step failed.
    pub(super) fn find_rows(&mut self, salt: Salt, ids: &[u32]) -> Result<usize> {
        if let Err(error) = self.land_all() {
            return Err(Error::Shared(self.lose(error)));
        }
        let Scheduler { tree, found, .. } = self;
        let hit = tree.peek(salt, ids, ids.len(), found);
        found.extend(hit.partial.map(|partial| partial.page));
        Ok(hit.tokens)
    }

    /// Reads the rows of the first `tokens` tokens of the text that was looked up.
    ///
    /// # Errors
    /// The engine fails.
    pub(super) fn read_rows(&mut self, paged: &Paged, tokens: usize, rows: &mut [u8]) -> Result<()> {
        let Scheduler { runner, pool, found, .. } = self;
        let runs = runs(found, pool.page(), tokens);
        paged.each(&runs, pool.slots(), tokens, |id, offset, range| runner.read_state(id, offset, &mut rows[range]))
    }

    /// Writes the rows of the first `tokens` tokens of a text to pages, as many as there are, which become nodes of the tree.
    /// `rows` has all rows. No other sequence has the salt. Returns the number of tokens whose rows were written.
    ///
    /// # Errors
    /// The engine fails.
    pub(super) fn write_rows(
        &mut self,
        salt: Salt,
        ids: &[u32],
        paged: &Paged,
        tokens: usize,
        rows: &[u8],
    ) -> Result<usize> {
        let mut table = PageTable::default();
        let room = self.room(tokens);
        self.pool.grow(&mut table, room)?;
        let Scheduler { runner, pool, tree, found, .. } = self;
        found.clear();
        found.extend_from_slice(table.pages());
        // Before the rows are there, and so that only the tree has the pages: if a write fails or panics, it is cleared.
        let inserted = tree.insert(pool, salt, &mut table, &ids[..room]).and_then(|_| pool.release(&mut table));
        debug_assert!(inserted.is_ok(), "{inserted:?}");
        let runs = runs(found, pool.page(), room);
        let history = Paged::history(runner.compiled().interface());
        let mut write = |paged: &Paged, tokens, bytes: &[u8]| {
            paged.each(&runs, pool.slots(), tokens, |id, offset, range| runner.write_state(id, offset, &bytes[range]))
        };
        let written = write(paged, tokens, rows).and_then(|()| write(&history, ids.len(), bytemuck::cast_slice(ids)));
        // A queue that does not take writes has states that nobody knows.
        written.map_err(|error| Error::Shared(self.lose(error)))?;
        Ok(room)
    }

    /// Makes room for this number of tokens, by the eviction of pages that no sequence holds. Returns the number of
    /// tokens that the free pages hold then.
    fn room(&mut self, tokens: usize) -> usize {
        let Scheduler { tree, pool, .. } = self;
        let missing = tokens.div_ceil(pool.page()).saturating_sub(pool.free());
        tree.evict(pool, missing);
        tokens.min(pool.free() * pool.page())
    }
}
