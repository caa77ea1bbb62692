//! A step buffer as definitions and kernels see it.

use super::{
    GROUPS, Header, LogitRow, NONE, PageCopy, Row, SECTION_COPIES, SECTION_FEED, SECTION_LOGITS, SECTION_PAGES,
    SECTION_SAMPLERS, SECTION_SEQS, SEQS, Seq, copies,
};
use crate::{Sizes, Slots};
use bytemuck::{Pod, cast_slice, pod_read_unaligned, try_cast_slice};

/// The reason why words are not a step buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step buffer: {what} is {value}, allowed: {}", .allowed.map_or_else(|| "none".to_owned(), |n| n.to_string()))]
pub struct StepError {
    /// The field.
    pub what: &'static str,
    /// Its value.
    pub value: usize,
    /// The value that is allowed, or the largest of those that are; `None` where there must be no such value.
    pub allowed: Option<usize>,
}

/// The parts of a step buffer.
#[derive(Clone, Copy, Debug)]
pub struct StepView<'a> {
    /// Counts.
    pub header: Header,
    /// The sequences.
    pub seqs: &'a [Seq],
    /// A token or [`super::LAST`] a row.
    pub feed: &'a [u32],
    /// The rows of the window `logit_first..+logit_rows`.
    pub logits: &'a [LogitRow],
    /// Page tables, one after the other.
    pub pages: &'a [u32],
    /// Sampling chains, one after the other.
    pub samplers: &'a [u32],
    /// Pages that are copied before rows write.
    pub copies: &'a [PageCopy],
}

pub(super) fn at_most(what: &'static str, value: usize, allowed: usize) -> Result<(), StepError> {
    if value <= allowed { Ok(()) } else { Err(StepError { what, value, allowed: Some(allowed) }) }
}

fn exactly(what: &'static str, value: usize, allowed: usize) -> Result<(), StepError> {
    if value == allowed { Ok(()) } else { Err(StepError { what, value, allowed: Some(allowed) }) }
}

/// The records in a range of words.
fn records<'a, T: Pod>(what: &'static str, words: &'a [u32], at: usize, len: usize) -> Result<&'a [T], StepError> {
    let end = at.saturating_add(len);
    let range = words.get(at..end).ok_or(StepError { what, value: end, allowed: Some(words.len()) })?;
    let whole = len - len % (size_of::<T>() / 4);
    try_cast_slice(range).map_err(|_| StepError { what, value: len, allowed: Some(whole) })
}

/// The records of a section.
fn section<'a, T: Pod>(
    what: &'static str,
    words: &'a [u32],
    header: &Header,
    section: usize,
) -> Result<&'a [T], StepError> {
    let section = header.sections[section];
    records(what, words, section.at as usize, section.words as usize)
}

impl<'a> StepView<'a> {
    /// Parses and checks the words of a step buffer. Afterwards all indices between its records are in range, every row
    /// belongs to one sequence, and every logit row to the sequence that it names. The caller, which knows the size of
    /// the cache, checks the pages, of tables and of copies.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn new(words: &'a [u32]) -> Result<StepView<'a>, StepError> {
        let header: Header = records::<Header>("header", words, 0, size_of::<Header>() / 4)?[0];
        let seqs: &[Seq] = section("sequences", words, &header, SECTION_SEQS)?;
        let feed: &[u32] = section("feed", words, &header, SECTION_FEED)?;
        let logits: &[LogitRow] = section("logit rows", words, &header, SECTION_LOGITS)?;
        let pages: &[u32] = section("pages", words, &header, SECTION_PAGES)?;
        let samplers: &[u32] = section("samplers", words, &header, SECTION_SAMPLERS)?;
        let copies: &[PageCopy] = section("page copies", words, &header, SECTION_COPIES)?;
        at_most("sequences", header.seqs as usize, SEQS)?;
        exactly("records of sequences", seqs.len(), header.seqs as usize)?;
        exactly("words of the feed", feed.len(), header.rows as usize)?;
        exactly("records of logit rows", logits.len(), header.logits as usize)?;
        if header.page == 0 {
            return Err(StepError { what: "tokens a page", value: 0, allowed: Some(usize::MAX) });
        }
        copies::check(copies, header.page as usize)?;
        let mut row = 0usize;
        for s in seqs {
            at_most("slot", s.slot as usize, SEQS - 1)?;
            exactly("first row of a sequence", s.first_row as usize, row)?;
            row = s.first_row as usize + s.rows as usize;
            at_most("rows of a sequence", row, feed.len())?;
            for table in s.tables {
                at_most("page table", (table.at as usize).saturating_add(table.pages as usize), pages.len())?;
            }
            if s.sampler_at != NONE {
                at_most("sampler", s.sampler_at as usize, samplers.len())?;
            }
        }
        exactly("rows", feed.len(), row)?;
        for l in logits {
            let seq = l.seq as usize;
            let s = seqs.get(seq).ok_or(StepError {
                what: "sequence of a logit row",
                value: seq,
                allowed: seqs.len().checked_sub(1),
            })?;
            at_most("first row of a sequence with logits", s.first_row as usize, l.row as usize)?;
            at_most("row of logits", l.row as usize + 1, (s.first_row + s.rows) as usize)?;
        }
        let (first, count) = (header.logit_first as usize, header.logit_rows as usize);
        at_most("window of logit rows", first + count, logits.len())?;
        Ok(StepView { header, seqs, feed, logits: &logits[first..first + count], pages, samplers, copies })
    }

    /// True counts of this step; `slots` are the places of the caches.
    pub fn sizes(&self, slots: Slots) -> Sizes {
        Sizes { rows: self.header.rows as usize, logit_rows: self.header.logit_rows as usize, slots }
    }

    /// The cache place of a position of a sequence in a layer group.
    ///
    /// # Panics
    /// If the sequence's page table does not reach the position. A page that was given back is [`NONE`], which the
    /// engines refuse before they compute a place.
    pub fn place(&self, seq: usize, group: usize, position: usize) -> usize {
        let page = self.header.page as usize;
        self.table(seq, group)[position / page] as usize * page + position % page
    }

    /// The page table of a sequence in a layer group.
    pub fn table(&self, seq: usize, group: usize) -> &'a [u32] {
        debug_assert!(group < GROUPS);
        let table = self.seqs[seq].tables[group];
        &self.pages[table.at as usize..][..table.pages as usize]
    }

    /// The copies of pages in a layer group.
    pub fn copies_in(&self, group: usize) -> impl Iterator<Item = &'a PageCopy> + use<'a> {
        self.copies.iter().filter(move |copy| copy.group as usize == group)
    }

    /// The words from the sampling chain of a sequence on, if the sequence draws.
    pub fn sampler(&self, seq: usize) -> Option<&'a [u32]> {
        let at = self.seqs[seq].sampler_at;
        (at != NONE).then(|| &self.samplers[at as usize..])
    }

    /// Whether this row is the last of its sequence in this step.
    pub fn is_last_row(&self, l: &LogitRow) -> bool {
        let s = &self.seqs[l.seq as usize];
        l.row + 1 == s.first_row + s.rows
    }
}

/// The page at an index of a page table, for a cache of `pages` pages. Every engine looks pages up with this function.
///
/// # Errors
/// The table does not reach the index, the page was given back ([`NONE`]), or the cache does not have it.
#[inline]
pub fn page(table: &[u32], index: usize, pages: usize) -> Result<usize, StepError> {
    let Some(page) = table.get(index) else {
        return Err(StepError {
            what: "pages up to a position",
            value: index.saturating_add(1),
            allowed: Some(table.len()),
        });
    };
    let what = match *page {
        page if (page as usize) < pages => return Ok(page as usize),
        NONE => "page that was given back",
        _ => "page",
    };
    Err(StepError { what, value: *page as usize, allowed: pages.checked_sub(1) })
}

/// The rows that `begin_step` derived, from the words of its result.
pub fn rows(words: &[u32]) -> impl ExactSizeIterator<Item = Row> + '_ {
    const WORDS: usize = size_of::<Row>() / 4;
    words.chunks_exact(WORDS).map(|w| pod_read_unaligned(cast_slice(w)))
}
