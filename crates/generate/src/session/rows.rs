//! The rows of a text in the caches, as bytes whose order no page size changes: state by state, in the order of their
//! names; in each state head by head; in each head position by position. So the places of a head that are contiguous
//! in the device's memory are also contiguous here, and one call moves them.

use crate::scheduler::Scheduler;
use crate::{Error, Result};
use inkstone_compute::Interface;
use inkstone_kvcache::{self as kvcache, Caches, GONE, Salt, Tables};
use inkstone_tensor::cache::{Cache, RUN};
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::{Dim, Type};
use std::ops::Range;

/// States that have a row for each head and position.
pub(super) struct Paged(Vec<State>);

struct State {
    id: usize,
    /// Its layer group.
    group: usize,
    heads: usize,
    /// Bytes of a row.
    row: usize,
}

/// Positions whose rows of a head are contiguous in a state and in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The number of the first position among those that the file has.
    index: usize,
    /// Its place.
    place: usize,
    /// The number of positions.
    len: usize,
}

/// The positions of a layer group whose rows a file has: the first ones, and the last ones. Without a window the group has all.
pub(super) type Stored = [Range<usize>; 2];

/// The number of positions.
fn count(stored: &Stored) -> usize {
    stored.iter().fold(0, |sum, range| sum.saturating_add(range.len()))
}

/// The runs of positions on these pages of `page` tokens; a position without a page is in none. A run ends where the places of
/// a head do ([`RUN`]).
fn runs(pages: &[u32], page: usize, stored: &Stored) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let positions = stored.iter().cloned().flatten().enumerate();
    let there = positions.filter_map(|(index, position)| {
        let number = *pages.get(position / page).filter(|number| **number != GONE)?;
        Some((index, number as usize * page + position % page))
    });
    for (index, place) in there {
        match runs.last_mut() {
            Some(run) if (run.index + run.len, run.place + run.len) == (index, place) && !place.is_multiple_of(RUN) => {
                run.len += 1;
            }
            _ => runs.push(Run { index, place, len: 1 }),
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
            group: s.ty.rows.group(),
            heads: s.ty.rows.heads(),
            row: usize::try_from(s.ty.row_bytes()).unwrap_or(usize::MAX),
        };
        Paged(paged.map(state).collect())
    }

    /// The most bytes of the rows of a token.
    pub fn token_bytes(&self) -> usize {
        self.0.iter().fold(0, |sum, s| sum.saturating_add(s.heads.saturating_mul(s.row)))
    }

    /// The bytes of the rows of these positions of each layer group.
    pub fn bytes(&self, stored: &[Stored]) -> usize {
        let of = |s: &State| stored.get(s.group).map_or(0, count).saturating_mul(s.heads.saturating_mul(s.row));
        self.0.iter().fold(0, |sum, s| sum.saturating_add(of(s)))
    }

    /// Calls `f` for each contiguous range of rows on these pages, with the id of its state, its first byte in the state, and the
    /// range among all rows.
    fn each(
        &self,
        caches: &Caches,
        pages: &[Vec<u32>],
        stored: &[Stored],
        mut f: impl FnMut(usize, u64, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let runs: Vec<_> = pages.iter().zip(stored).map(|(pages, stored)| runs(pages, caches.page(), stored)).collect();
        let mut start = 0;
        for &State { id, group, heads, row } in &self.0 {
            let cache = Cache { heads, slots: caches.pool(group).slots() };
            for head in 0..heads {
                for run in &runs[group] {
                    let (from, bytes) = (start + run.index * row, run.len * row);
                    f(id, cache.row(head, run.place) as u64 * row as u64, from..from + bytes)?;
                }
                start += count(&stored[group]) * row;
            }
        }
        Ok(())
    }
}

/// The page numbers of each group.
fn lists(tables: &Tables) -> Vec<Vec<u32>> {
    tables.pages().iter().map(|pages| pages.to_vec()).collect()
}

impl Scheduler {
    /// Looks up the pages of a text, and holds those with which it can go on. Steps that are under way have landed, so that no
    /// row comes from a step that fails. Release the tables.
    ///
    /// # Errors
    /// A step failed.
    pub(super) fn find_rows(&mut self, salt: Salt, ids: &[u32]) -> Result<Tables> {
        if let Err(error) = self.land_all() {
            return Err(Error::Shared(self.lose(error)));
        }
        let mut tables = Tables::default();
        self.caches.peek(salt, ids, &mut tables)?;
        Ok(tables)
    }

    /// The positions of each layer group that a file has.
    pub(super) fn stored(&self, tables: &Tables) -> Vec<Stored> {
        (0..self.caches.groups().len()).map(|group| self.caches.rows(tables, group)).collect()
    }

    /// Reads rows.
    ///
    /// # Errors
    /// The engine fails.
    pub(super) fn read_rows(
        &mut self,
        paged: &Paged,
        tables: &Tables,
        stored: &[Stored],
        rows: &mut [u8],
    ) -> Result<()> {
        let Scheduler { runner, caches, .. } = self;
        paged.each(caches, &lists(tables), stored, |id, offset, range| runner.read_state(id, offset, &mut rows[range]))
    }

    /// Writes the rows of the first `tokens` tokens of a text to pages, as many as there are, which become nodes of the tree.
    /// `rows` has the positions `stored` of each layer group. No other sequence has the salt. Returns the number of tokens whose
    /// rows were written.
    ///
    /// # Errors
    /// The engine fails.
    pub(super) fn write_rows(
        &mut self,
        salt: Salt,
        ids: &[u32],
        paged: &Paged,
        tokens: usize,
        (stored, rows): (&[Stored], &[u8]),
    ) -> Result<usize> {
        let room = self.room(tokens);
        let mut tables = Tables::default();
        match self.caches.place(&mut tables, room, |group| stored.get(group).cloned().unwrap_or_default()) {
            Ok(true) => {}
            // Windows of which rows are missing, for pages of another size or a text that is cut, are of no use.
            Ok(false) | Err(kvcache::Error::NoPages { .. }) => return Ok(0),
            Err(error) => return Err(error.into()),
        }
        let Scheduler { runner, caches, .. } = self;
        // Before the rows are there, and so that only the tree has the pages: if a write fails or panics, it is cleared.
        let inserted = caches.insert(salt, &mut tables, &ids[..room]);
        caches.checkpoint(&mut tables, room);
        let pages = lists(&tables);
        let released = inserted.and_then(|_| caches.release(&mut tables));
        debug_assert!(released.is_ok(), "{released:?}");
        let history = Paged::history(runner.compiled().interface());
        let all = vec![[0..0, 0..room]; stored.len()];
        let mut write = |paged: &Paged, stored: &[Stored], bytes: &[u8]| {
            paged.each(caches, &pages, stored, |id, offset, range| runner.write_state(id, offset, &bytes[range]))
        };
        let written = write(paged, stored, rows).and_then(|()| write(&history, &all, bytemuck::cast_slice(ids)));
        // A queue that does not take writes has states that nobody knows.
        written.map_err(|error| Error::Shared(self.lose(error)))?;
        Ok(room)
    }

    /// Makes room for this number of tokens, by the eviction of pages that no sequence holds. Returns the number of
    /// tokens that the free pages hold then.
    fn room(&mut self, tokens: usize) -> usize {
        let page = self.caches.page();
        let missing = tokens.div_ceil(page).saturating_sub(self.caches.pool(0).free());
        self.caches.evict(0, missing);
        tokens.min(self.caches.pool(0).free() * page)
    }
}
