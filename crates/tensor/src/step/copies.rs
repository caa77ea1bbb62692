//! The rules of page copies. They make the order of the copies of a step meaningless, so that an engine may do all of them
//! at once.

use super::view::at_most;
use super::{COPIES, GROUPS, PageCopy, StepError};

/// Checks the copies of a step for everything but the size of the caches. Their number is checked first, because all pairs
/// are compared.
pub(super) fn check(copies: &[PageCopy], page: usize) -> Result<(), StepError> {
    at_most("number of page copies", copies.len(), COPIES)?;
    for (i, copy) in copies.iter().enumerate() {
        at_most("layer group of a page copy", copy.group as usize, GROUPS - 1)?;
        at_most("places of a page copy", copy.places as usize, page)?;
        for (j, other) in copies[..=i].iter().enumerate().filter(|(_, other)| other.group == copy.group) {
            forbid("page that two copies write", copy.to, j < i && other.to == copy.to)?;
            forbid("page that copies read and write", copy.from, copy.from == other.to)?;
            forbid("page that copies read and write", copy.to, copy.to == other.from)?;
        }
    }
    Ok(())
}

fn forbid(what: &'static str, page: u32, found: bool) -> Result<(), StepError> {
    if found { Err(StepError { what, value: page as usize, allowed: None }) } else { Ok(()) }
}

impl PageCopy {
    /// Its source and its target, for a cache of `pages` pages. Every engine looks them up with this function.
    ///
    /// # Errors
    /// The page that the cache does not have.
    pub fn pages(&self, pages: usize) -> Result<[usize; 2], StepError> {
        let [from, to] = [self.from as usize, self.to as usize];
        for (what, value) in [("source page of a copy", from), ("target page of a copy", to)] {
            if value >= pages {
                return Err(StepError { what, value, allowed: pages.checked_sub(1) });
            }
        }
        Ok([from, to])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Header, NONE, SEQS, Seq, StepBuffer, StepView};
    use super::*;

    const PAGE: usize = 4;

    fn copy(group: u32, from: u32, to: u32, places: u32) -> PageCopy {
        PageCopy { group, from, to, places }
    }

    /// The words of a step of nothing but copies.
    fn words(copies: &[PageCopy]) -> Vec<u32> {
        let mut buffer = StepBuffer::with_capacity(PAGE, 0, 0, 0);
        copies.iter().for_each(|copy| buffer.copy(*copy));
        let words = buffer.encode(0, 0).to_vec();
        assert_eq!(words.len(), buffer.words());
        words
    }

    fn error(copies: &[PageCopy]) -> String {
        StepView::new(&words(copies)).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn what_is_to_be_copied_is_what_is_seen() {
        // One source may have several targets, and a page of one group is not that of another group.
        let copies = [copy(0, 7, 3, 4), copy(0, 7, 2, 0), copy(1, 3, 7, 1), copy(3, 2, 3, 2)];
        let words = words(&copies);
        let view = StepView::new(&words).unwrap();
        assert_eq!(view.copies, copies);
        let of = |group| view.copies_in(group).copied().collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(2), of(3)], [&copies[..2], &copies[2..3], &[], &copies[3..]]);
    }

    #[test]
    fn steps_that_copy_otherwise_have_other_words() {
        let different = [copy(0, 1, 2, 3), copy(1, 1, 2, 3), copy(0, 3, 2, 3), copy(0, 1, 3, 3), copy(0, 1, 2, 4)];
        let steps: Vec<Vec<u32>> = different.iter().map(|copy| words(&[*copy])).chain([words(&[])]).collect();
        for (i, step) in steps.iter().enumerate() {
            assert!(!steps[..i].contains(step), "step {i}");
        }
    }

    #[test]
    fn a_buffer_that_is_cleared_copies_nothing_and_has_room_for_all_copies() {
        let mut buffer = StepBuffer::with_capacity(PAGE, 3, 2, 1);
        (0..COPIES as u32).for_each(|i| buffer.copy(copy(i % 4, 1000 + i, i, 1)));
        let full = buffer.encode(0, 0).to_vec();
        assert_eq!(StepView::new(&full).unwrap().copies.len(), COPIES);
        let head_and_sequences = (size_of::<Header>() + SEQS * size_of::<Seq>()) / 4;
        assert_eq!(StepBuffer::max_words(3, 2, 1), head_and_sequences + 3 * 3 + 2 + 1 + 4 * COPIES);
        buffer.clear();
        assert_eq!(buffer.encode(0, 0), words(&[]));
    }

    #[test]
    fn copies_whose_order_would_matter_are_refused() {
        let allowed = [copy(0, 1, 2, 1), copy(0, 1, 3, 1), copy(1, 2, 1, 1)];
        StepView::new(&words(&allowed)).unwrap();
        let with = |last: PageCopy| error(&[allowed[0], allowed[1], allowed[2], last]);
        assert_eq!(with(copy(0, 4, 3, 0)), "step buffer: page that two copies write is 3, allowed: none");
        assert_eq!(with(copy(0, 2, 4, 1)), "step buffer: page that copies read and write is 2, allowed: none");
        assert_eq!(with(copy(1, 4, 2, 1)), "step buffer: page that copies read and write is 2, allowed: none");
        assert_eq!(with(copy(2, 5, 5, 1)), "step buffer: page that copies read and write is 5, allowed: none");
    }

    #[test]
    fn copies_out_of_range_are_refused() {
        assert_eq!(error(&[copy(4, 0, 1, 1)]), "step buffer: layer group of a page copy is 4, allowed: 3");
        assert_eq!(error(&[copy(NONE, 0, 1, 1)]), "step buffer: layer group of a page copy is 4294967295, allowed: 3");
        assert_eq!(error(&[copy(3, 0, 1, 5)]), "step buffer: places of a page copy is 5, allowed: 4");
        // The number is checked before the pairs, and before the records.
        let many = vec![copy(9, 1, 1, 9); COPIES + 1];
        assert_eq!(error(&many), "step buffer: number of page copies is 257, allowed: 256");
        let mut partial = words(&[copy(0, 1, 2, 3)]);
        // The last word of the header: the words of the last section.
        partial[size_of::<Header>() / 4 - 1] = 3;
        let error = StepView::new(&partial).unwrap_err().to_string();
        assert_eq!(error, "step buffer: page copies is 3, allowed: 0");
    }

    #[test]
    fn pages_that_a_cache_does_not_have_are_refused() {
        assert_eq!(copy(0, 7, 6, 1).pages(8), Ok([7, 6]));
        let error = |copy: PageCopy, pages| copy.pages(pages).unwrap_err().to_string();
        assert_eq!(error(copy(0, 7, 6, 1), 7), "step buffer: source page of a copy is 7, allowed: 6");
        assert_eq!(error(copy(0, 5, NONE, 1), 7), "step buffer: target page of a copy is 4294967295, allowed: 6");
        assert_eq!(error(copy(0, 0, 1, 1), 0), "step buffer: source page of a copy is 0, allowed: none");
    }
}
