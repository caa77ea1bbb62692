//! The host's side: a step is composed here, in vectors that keep their memory.

use super::{COPIES, GROUPS, Header, LogitRow, NONE, PageCopy, SECTIONS, SEQS, Section, Seq, Table};
use crate::NoMemory;
use bytemuck::{bytes_of, cast_slice};

/// Which rows of a sequence want logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogitWish {
    /// None: a chunk of a prompt that is not its last.
    None,
    /// The last row: to draw the next token.
    Last,
    /// Every row: scores of a text, verification of drafts.
    All,
}

/// The part of a sequence in a step.
#[derive(Clone, Copy, Debug)]
pub struct SeqStep<'a> {
    /// Its slot in the carry.
    pub slot: usize,
    /// Tokens to feed; [`super::LAST`] for the one that it drew last.
    pub tokens: &'a [u32],
    /// Its page table in each layer group that the model has.
    pub tables: &'a [&'a [u32]],
    /// Whose logits are wanted.
    pub logits: LogitWish,
    /// Words of its sampling chain; without one nothing is drawn.
    pub sampler: Option<&'a [u32]>,
}

/// A step under composition. Nothing is allocated within the capacity that it was made with.
#[derive(Debug, Default)]
pub struct StepBuffer {
    page: u32,
    seqs: Vec<Seq>,
    feed: Vec<u32>,
    logits: Vec<LogitRow>,
    pages: Vec<u32>,
    samplers: Vec<u32>,
    copies: Vec<PageCopy>,
    words: Vec<u32>,
}

impl StepBuffer {
    /// Words of the largest step that has at most so many rows, words of page tables and of sampling chains, with as many
    /// page copies as a step can have.
    pub const fn max_words(rows: usize, pages: usize, samplers: usize) -> usize {
        (size_of::<Header>() + SEQS * size_of::<Seq>() + COPIES * size_of::<PageCopy>()) / 4
            + rows.saturating_mul(3).saturating_add(pages).saturating_add(samplers)
    }

    /// An empty step with room for so many rows, words of page tables and of sampling chains.
    ///
    /// # Panics
    /// If there is no memory for it; see [`StepBuffer::try_with_capacity`].
    pub fn with_capacity(page: usize, rows: usize, pages: usize, samplers: usize) -> StepBuffer {
        StepBuffer::try_with_capacity(page, rows, pages, samplers).expect("memory for a step")
    }

    /// Like `with_capacity`, for untrusted sizes.
    ///
    /// # Errors
    /// The allocation fails.
    pub fn try_with_capacity(page: usize, rows: usize, pages: usize, samplers: usize) -> Result<StepBuffer, NoMemory> {
        Ok(StepBuffer {
            page: page as u32,
            seqs: room(SEQS)?,
            feed: room(rows)?,
            logits: room(rows)?,
            pages: room(pages)?,
            samplers: room(samplers)?,
            copies: room(COPIES)?,
            words: room(Self::max_words(rows, pages, samplers))?,
        })
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.seqs.clear();
        self.feed.clear();
        self.logits.clear();
        self.pages.clear();
        self.samplers.clear();
        self.copies.clear();
    }

    /// Adds the next tokens of a sequence.
    pub fn push(&mut self, s: &SeqStep) {
        let (first_row, rows) = (self.feed.len() as u32, s.tokens.len() as u32);
        let mut tables = [Table::default(); GROUPS];
        for (place, table) in tables.iter_mut().zip(s.tables) {
            *place = Table { at: self.pages.len() as u32, pages: table.len() as u32 };
            self.pages.extend_from_slice(table);
        }
        let sampler_at = s.sampler.map_or(NONE, |_| self.samplers.len() as u32);
        self.samplers.extend_from_slice(s.sampler.unwrap_or_default());
        let seq = self.seqs.len() as u32;
        let wanted = match s.logits {
            LogitWish::None => first_row..first_row,
            LogitWish::Last => first_row + rows.saturating_sub(1)..first_row + rows,
            LogitWish::All => first_row..first_row + rows,
        };
        self.logits.extend(wanted.map(|row| LogitRow { row, seq }));
        self.seqs.push(Seq { slot: s.slot as u32, first_row, rows, sampler_at, tables });
        self.feed.extend_from_slice(s.tokens);
    }

    /// Adds a copy of a page; a step has at most [`COPIES`]. [`StepView::new`](super::StepView::new) refuses copies that
    /// contradict each other.
    pub fn copy(&mut self, copy: PageCopy) {
        self.copies.push(copy);
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.feed.len()
    }

    /// Sequences so far.
    pub fn seqs(&self) -> &[Seq] {
        &self.seqs
    }

    /// Rows whose logits are wanted.
    pub fn logits(&self) -> &[LogitRow] {
        &self.logits
    }

    /// The header, for the window of logit rows `first..first + count`.
    pub fn header(&self, first: usize, count: usize) -> Header {
        Header {
            rows: self.feed.len() as u32,
            seqs: self.seqs.len() as u32,
            logits: self.logits.len() as u32,
            logit_first: first as u32,
            logit_rows: count as u32,
            page: self.page,
            sections: self.sections(),
        }
    }

    /// The sections, in the order of their constants, without gaps.
    fn sections(&self) -> [Section; SECTIONS] {
        let mut at = size_of::<Header>() / 4;
        self.parts().map(|part| {
            let section = Section { at: at as u32, words: part.len() as u32 };
            at += part.len();
            section
        })
    }

    /// The words of each section.
    fn parts(&self) -> [&[u32]; SECTIONS] {
        let (seqs, logits, copies) = (&self.seqs, &self.logits, &self.copies);
        [cast_slice(seqs), &self.feed, cast_slice(logits), &self.pages, &self.samplers, cast_slice(copies)]
    }

    /// The number of words that go to the device.
    pub fn words(&self) -> usize {
        size_of::<Header>() / 4 + self.parts().map(<[u32]>::len).iter().sum::<usize>()
    }

    /// The words that go to the device.
    pub fn encode(&mut self, first: usize, count: usize) -> &[u32] {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        words.extend_from_slice(cast_slice(bytes_of(&self.header(first, count))));
        for part in self.parts() {
            words.extend_from_slice(part);
        }
        self.words = words;
        &self.words
    }
}

fn room<T>(n: usize) -> Result<Vec<T>, NoMemory> {
    let mut values = Vec::new();
    let bytes = n.saturating_mul(size_of::<T>()) as u64;
    values.try_reserve_exact(n).map_err(|_| NoMemory { bytes })?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::super::{LAST, SECTION_COPIES, StepView};
    use super::*;

    const COPY: PageCopy = PageCopy { group: 1, from: 2, to: 5, places: 4 };

    fn two() -> StepBuffer {
        let mut b = StepBuffer::with_capacity(4, 8, 8, 8);
        let (a, z): (&[u32], &[u32]) = (&[7, 3], &[5]);
        b.push(&SeqStep { slot: 2, tokens: &[9, 8, 7, 6, 5], tables: &[a], logits: LogitWish::All, sampler: None });
        b.push(&SeqStep { slot: 0, tokens: &[LAST], tables: &[z], logits: LogitWish::Last, sampler: Some(&[1, 2]) });
        b.copy(COPY);
        b
    }

    #[test]
    fn what_is_composed_is_what_is_seen() {
        let mut b = two();
        let words = b.encode(4, 2).to_vec();
        assert_eq!(b.words(), words.len());
        let v = StepView::new(&words).unwrap();
        assert_eq!((v.feed, v.pages, v.samplers), (&[9, 8, 7, 6, 5, LAST][..], &[7, 3, 5][..], &[1, 2][..]));
        assert_eq!(v.logits, [LogitRow { row: 4, seq: 0 }, LogitRow { row: 5, seq: 1 }]);
        assert_eq!(v.copies, [COPY]);
        assert_eq!((v.place(0, 0, 3), v.place(0, 0, 4), v.place(1, 0, 0)), (31, 12, 20));
        assert!(v.is_last_row(&v.logits[0]) && v.is_last_row(&v.logits[1]));
    }

    #[test]
    fn words_that_are_no_step_are_refused() {
        let mut b = two();
        let words = b.encode(0, 1).to_vec();
        for cut in 0..words.len() {
            assert!(StepView::new(&words[..cut]).is_err(), "{cut}");
        }
        let sound = StepView::new(&words).unwrap();
        // By the name of a field: the header has 18 words, then come two sequences of 12 words, the feed of 6 and the
        // logit rows of 2 words.
        let (seq, logits) = (|i: usize, field: usize| 18 + 12 * i + field, |i: usize, field: usize| 48 + 2 * i + field);
        assert_eq!((words[seq(1, 1)], words[seq(1, 2)], words[logits(0, 0)], words[logits(0, 1)]), (5, 1, 0, 0));
        let counts = [(0, 7), (0, 5), (1, 65), (1, 1), (2, 5), (2, 7), (3, 6), (4, 7), (5, 0)];
        let slots_and_tables = [(seq(0, 0), 64), (seq(0, 4), 9), (seq(0, 5), 4), (seq(1, 10), 4), (seq(1, 3), 3)];
        let gaps = [(seq(0, 1), 1), (seq(0, 2), 4), (seq(1, 1), 4), (seq(1, 2), 0), (seq(1, 2), 2)];
        let of_another =
            [(logits(0, 0), 5), (logits(0, 1), 1), (logits(0, 1), 2), (logits(5, 0), 4), (logits(5, 1), 0)];
        for (at, value) in counts.into_iter().chain(slots_and_tables).chain(gaps).chain(of_another) {
            let mut bad = words.clone();
            bad[at] = value;
            assert!(StepView::new(&bad).is_err(), "word {at} = {value}");
        }
        for (i, section) in sound.header.sections.iter().enumerate() {
            // Past the end, at the very end of the numbers, and too long; too short if there is a count for it, or if
            // the last record is cut.
            let faults = [(0, words.len() as u32), (0, u32::MAX), (1, u32::MAX), (1, words.len() as u32)];
            let short = (1, section.words - 1);
            for (field, value) in faults.into_iter().chain((i < 3 || i == SECTION_COPIES).then_some(short)) {
                let mut bad = words.clone();
                bad[6 + 2 * i + field] = value;
                assert!(StepView::new(&bad).is_err(), "field {field} of section {i} = {value}");
            }
        }
        let mut overlapping = words;
        (overlapping[seq(1, 1)], overlapping[seq(1, 2)]) = (4, 2);
        let error = StepView::new(&overlapping).unwrap_err().to_string();
        assert_eq!(error, "step buffer: first row of a sequence is 4, allowed: 5");
    }

    #[test]
    fn sections_may_be_anywhere() {
        let mut b = two();
        let words = b.encode(4, 2).to_vec();
        let wanted = StepView::new(&words).unwrap();
        let mut header = wanted.header;
        // The last section comes first, and before each there is a gap.
        let mut moved = vec![u32::MAX; size_of::<Header>() / 4];
        for section in header.sections.iter_mut().rev() {
            moved.extend([u32::MAX; 3]);
            let from = &words[section.at as usize..][..section.words as usize];
            section.at = moved.len() as u32;
            moved.extend_from_slice(from);
        }
        moved[..size_of::<Header>() / 4].copy_from_slice(cast_slice(bytes_of(&header)));
        let found = StepView::new(&moved).unwrap();
        assert_eq!((found.seqs, found.feed, found.logits), (wanted.seqs, wanted.feed, wanted.logits));
        assert_eq!((found.pages, found.samplers, found.copies), (wanted.pages, wanted.samplers, wanted.copies));
    }

    #[test]
    fn the_largest_step_is_composed_in_the_memory_of_an_empty_one() {
        let mut b = StepBuffer::with_capacity(4, 8, 8, 8);
        let memory = |b: &StepBuffer| {
            let vectors = [b.feed.as_ptr(), b.pages.as_ptr(), b.samplers.as_ptr(), b.words.as_ptr()];
            (vectors, b.seqs.as_ptr(), b.logits.as_ptr(), b.copies.as_ptr())
        };
        let before = memory(&b);
        for slot in 0..SEQS {
            let (tokens, pages) = (&[1, 2, 3, 4, 5, 6, 7, 8][..8 * usize::from(slot == 0)], &[slot as u32]);
            let tables: &[&[u32]] = if slot < 8 { &[pages] } else { &[] };
            let sampler = (slot < 8).then_some(&[1][..]);
            b.push(&SeqStep { slot, tokens, tables, logits: LogitWish::All, sampler });
        }
        (0..COPIES as u32).for_each(|to| b.copy(PageCopy { to, ..COPY }));
        assert_eq!(b.encode(0, 8).len(), StepBuffer::max_words(8, 8, 8));
        assert_eq!(memory(&b), before);
    }

    #[test]
    fn tables_of_a_sequence_may_differ_in_length() {
        let mut b = StepBuffer::with_capacity(4, 8, 8, 8);
        let (full, window): (&[u32], &[u32]) = (&[7, 3, 5], &[NONE, 2]);
        b.push(&SeqStep { slot: 1, tokens: &[4], tables: &[full, window], logits: LogitWish::None, sampler: None });
        let words = b.encode(0, 0).to_vec();
        let v = StepView::new(&words).unwrap();
        assert_eq!((v.table(0, 0), v.table(0, 1), v.table(0, 2)), (full, window, &[][..]));
        assert_eq!((v.place(0, 0, 9), v.place(0, 1, 6)), (21, 10));
    }
}
