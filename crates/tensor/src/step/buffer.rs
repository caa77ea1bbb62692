//! The host's side: a step is composed here, in vectors that keep their memory.

use super::{GROUPS, Header, LogitRow, NONE, SEQS, Seq};
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
    /// Its page table in each layer group that the model has; they are equally long.
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
    words: Vec<u32>,
}

impl StepBuffer {
    /// Words of the largest step that has at most so many rows, words of page tables and of sampling chains.
    pub const fn max_words(rows: usize, pages: usize, samplers: usize) -> usize {
        (size_of::<Header>() + SEQS * size_of::<Seq>()) / 4
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
    }

    /// Adds the next tokens of a sequence.
    pub fn push(&mut self, s: &SeqStep) {
        let (first_row, rows) = (self.feed.len() as u32, s.tokens.len() as u32);
        let mut pages_at = [self.pages.len() as u32; GROUPS];
        for (at, table) in pages_at.iter_mut().zip(s.tables) {
            *at = self.pages.len() as u32;
            self.pages.extend_from_slice(table);
        }
        let pages = s.tables.first().map_or(0, |t| t.len()) as u32;
        let sampler_at = s.sampler.map_or(NONE, |_| self.samplers.len() as u32);
        self.samplers.extend_from_slice(s.sampler.unwrap_or_default());
        let seq = self.seqs.len() as u32;
        let wanted = match s.logits {
            LogitWish::None => first_row..first_row,
            LogitWish::Last => first_row + rows.saturating_sub(1)..first_row + rows,
            LogitWish::All => first_row..first_row + rows,
        };
        self.logits.extend(wanted.map(|row| LogitRow { row, seq }));
        self.seqs.push(Seq { slot: s.slot as u32, first_row, rows, pages_at, pages, sampler_at });
        self.feed.extend_from_slice(s.tokens);
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
            pages: self.pages.len() as u32,
            samplers: self.samplers.len() as u32,
        }
    }

    /// The number of words that go to the device.
    pub fn words(&self) -> usize {
        let records = size_of::<Header>() + size_of_val(&*self.seqs) + size_of_val(&*self.logits);
        records / 4 + self.feed.len() + self.pages.len() + self.samplers.len()
    }

    /// The words that go to the device.
    pub fn encode(&mut self, first: usize, count: usize) -> &[u32] {
        let header = self.header(first, count);
        self.words.clear();
        self.words.extend_from_slice(cast_slice(bytes_of(&header)));
        self.words.extend_from_slice(cast_slice(&self.seqs));
        self.words.extend_from_slice(&self.feed);
        self.words.extend_from_slice(cast_slice(&self.logits));
        self.words.extend_from_slice(&self.pages);
        self.words.extend_from_slice(&self.samplers);
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
    use super::super::{LAST, StepView};
    use super::*;

    fn two() -> StepBuffer {
        let mut b = StepBuffer::with_capacity(4, 8, 8, 8);
        let (a, z): (&[u32], &[u32]) = (&[7, 3], &[5]);
        b.push(&SeqStep { slot: 2, tokens: &[9, 8, 7, 6, 5], tables: &[a], logits: LogitWish::All, sampler: None });
        b.push(&SeqStep { slot: 0, tokens: &[LAST], tables: &[z], logits: LogitWish::Last, sampler: Some(&[1, 2]) });
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
        // Of two sequences of 9 words from word 8 on: rows 0..5 and 5..6. The logit rows begin at word 32.
        assert_eq!((words[18], words[19], words[32], words[33]), (5, 1, 0, 0));
        let faults = [(0, 7), (1, 65), (3, 6), (5, 0), (8, 64), (10, 9), (11, 3)];
        let gaps = [(9, 1), (10, 4), (18, 4), (19, 0), (19, 2)];
        let of_another = [(32, 5), (33, 1), (33, 2), (42, 4), (43, 0)];
        for (at, value) in faults.into_iter().chain(gaps).chain(of_another) {
            let mut bad = words.clone();
            bad[at] = value;
            assert!(StepView::new(&bad).is_err(), "word {at} = {value}");
        }
        let mut overlapping = words;
        (overlapping[18], overlapping[19]) = (4, 2);
        let error = StepView::new(&overlapping).unwrap_err().to_string();
        assert_eq!(error, "step buffer: first row of a sequence is 4, allowed: 5");
    }
}
