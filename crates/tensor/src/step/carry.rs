//! The carry: the state that each sequence slot keeps on the device between steps. It is a table of words
//! `[field][slot]` whose last rows are a ring of the records of the last steps. The host reads only this ring.

use super::{NONE, Row, SEQS, StepView, TOKENS_END};
use crate::{Dim, Type};

/// End tokens that a sequence can have on the device; further ones are the host's to see.
pub const ENDS: usize = 8;
/// Steps whose records the ring holds.
pub const RING_STEPS: usize = 8;

/// Steps that drew tokens so far (slot 0): where the ring stands.
pub const STEP: usize = 0;
/// Tokens in the caches.
pub const LENGTH: usize = 1;
/// The token drawn last.
pub const TOKEN: usize = 2;
/// 1 when the sequence has ended.
pub const DONE: usize = 3;
/// Tokens that it may still draw.
pub const LEFT: usize = 4;
/// Its end tokens, [`NONE`] where there are fewer.
pub const END: usize = 5;
/// The ring.
pub const RING: usize = END + ENDS;

/// The type of the carry.
pub const CARRY: Type = Type::u32(Dim::N(RING + RING_STEPS), SEQS).state();

/// The place of a field of a slot, in words.
pub const fn word(field: usize, slot: usize) -> usize {
    field * SEQS + slot
}

/// The row of the ring that the `step`-th drawing step writes.
pub const fn ring(step: usize) -> usize {
    RING + step % RING_STEPS
}

/// Token and position of every row of the step.
pub fn begin(step: &StepView, carry: &[u32], mut put: impl FnMut(usize, Row)) {
    for (seq, s) in step.seqs.iter().enumerate() {
        let slot = s.slot as usize;
        for i in 0..s.rows {
            let row = (s.first_row + i) as usize;
            let token = match step.feed[row] {
                super::LAST => carry[word(TOKEN, slot)],
                token => token,
            };
            let position = carry[word(LENGTH, slot)] + i;
            put(row, Row { token, position, seq: seq as u32 });
        }
    }
}

/// Lengths grow by the rows of this step. A sequence that has ended stays as it is: it rewrites its own next place.
pub fn advance(step: &StepView, carry: &mut [u32]) {
    for s in step.seqs {
        let slot = s.slot as usize;
        if carry[word(DONE, slot)] == 0 {
            carry[word(LENGTH, slot)] += s.rows;
        }
    }
}

/// Takes what each sequence drew: stores the token, ends the sequence (end token, limit, error), writes the ring. The
/// ends that a device must know are decided here, because steps can be ahead of the host.
pub fn accept(step: &StepView, records: &[u32], carry: &mut [u32]) {
    let ring = ring(carry[word(STEP, 0)] as usize);
    if step.header.logit_first == 0 {
        carry[word(ring, 0)..][..SEQS].fill(NONE);
    }
    for (l, &record) in step.logits.iter().zip(records) {
        let s = &step.seqs[l.seq as usize];
        let slot = s.slot as usize;
        if s.sampler_at == NONE || !step.is_last_row(l) || carry[word(DONE, slot)] != 0 {
            continue;
        }
        carry[word(ring, slot)] = record;
        let left = carry[word(LEFT, slot)].saturating_sub(1);
        carry[word(LEFT, slot)] = left;
        let ends = (0..ENDS).any(|i| carry[word(END + i, slot)] == record);
        if record >= TOKENS_END || ends || left == 0 {
            carry[word(DONE, slot)] = 1;
        } else {
            carry[word(TOKEN, slot)] = record;
        }
    }
    if step.header.logit_first + step.header.logit_rows == step.header.logits {
        carry[word(STEP, 0)] = carry[word(STEP, 0)].wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Record;
    use super::super::{LAST, LogitWish, SeqStep, StepBuffer};
    use super::*;

    /// Slots 3 (all logits), 7 (none drawn) and 1 (the last row), in this order.
    fn step() -> StepBuffer {
        let mut b = StepBuffer::with_capacity(8, 8, 8, 8);
        let tables: &[&[u32]] = &[&[0]];
        let mut push = |slot, tokens, logits, sampler| b.push(&SeqStep { slot, tokens, tables, logits, sampler });
        push(3, &[10, 11, 12], LogitWish::All, Some(&[]));
        push(7, &[20], LogitWish::Last, None);
        push(1, &[LAST], LogitWish::Last, Some(&[]));
        b
    }

    fn first() -> Vec<u32> {
        let mut carry = vec![0; (RING + RING_STEPS) * SEQS];
        for slot in 0..SEQS {
            carry[word(LEFT, slot)] = 5;
            (0..ENDS).for_each(|i| carry[word(END + i, slot)] = NONE);
        }
        (carry[word(LENGTH, 1)], carry[word(TOKEN, 1)], carry[word(END + 2, 3)]) = (6, 9, 55);
        carry
    }

    /// The carry after windows of so many logit rows.
    fn accepted(window: usize, records: [u32; 5]) -> Vec<u32> {
        let (mut b, mut carry) = (step(), first());
        for from in (0..5).step_by(window) {
            let count = window.min(5 - from);
            let words = b.encode(from, count).to_vec();
            accept(&StepView::new(&words).unwrap(), &records[from..from + count], &mut carry);
        }
        carry
    }

    #[test]
    fn rows_follow_what_a_sequence_has_and_lengths_grow_by_them() {
        let (words, mut carry) = (step().encode(0, 0).to_vec(), first());
        let view = StepView::new(&words).unwrap();
        let mut rows = vec![(0, 0, 0); 5];
        begin(&view, &carry, |r, row| rows[r] = (row.token, row.position, row.seq));
        assert_eq!(rows, [(10, 0, 0), (11, 1, 0), (12, 2, 0), (20, 0, 1), (9, 6, 2)]);
        carry[word(DONE, 7)] = 1;
        advance(&view, &mut carry);
        assert_eq!([3, 7, 1].map(|slot| carry[word(LENGTH, slot)]), [3, 0, 7], "slot 7 has ended");
    }

    #[test]
    fn windows_of_logit_rows_leave_what_one_window_leaves() {
        let carry = accepted(5, [1, 2, 42, 4, 43]);
        assert_eq!((carry[word(STEP, 0)], carry[word(TOKEN, 3)], carry[word(TOKEN, 1)]), (1, 42, 43));
        assert_eq!([3, 7, 1].map(|slot| carry[word(LEFT, slot)]), [4, 5, 4], "rows that draw nothing cost nothing");
        assert_eq!([3, 7, 1, 0].map(|slot| carry[word(RING, slot)]), [42, NONE, 43, NONE]);
        (1..5).for_each(|window| assert_eq!(accepted(window, [1, 2, 42, 4, 43]), carry, "windows of {window}"));
    }

    #[test]
    fn a_draw_that_is_left_to_the_host_ends_the_sequence_and_keeps_the_token_before() {
        let host = Record::Host.encode();
        let carry = accepted(2, [0, 0, host, 0, host]);
        assert_eq!([3, 1].map(|slot| (carry[word(DONE, slot)], carry[word(RING, slot)])), [(1, host); 2]);
        assert_eq!([3, 1].map(|slot| (carry[word(TOKEN, slot)], carry[word(LEFT, slot)])), [(0, 4), (9, 4)]);
    }

    #[test]
    fn end_tokens_statuses_and_limits_end_a_sequence() {
        let carry = accepted(2, [0, 0, 55, 0, TOKENS_END]);
        assert_eq!([3, 7, 1].map(|slot| carry[word(DONE, slot)]), [1, 0, 1]);
        assert_eq!([3, 1].map(|slot| carry[word(TOKEN, slot)]), [0, 9], "neither is a token to go on with");
        let mut carry = first();
        carry[word(LEFT, 1)] = 1;
        let words = step().encode(0, 5).to_vec();
        accept(&StepView::new(&words).unwrap(), &[0, 0, 42, 0, 43], &mut carry);
        assert_eq!([3, 1].map(|slot| (carry[word(DONE, slot)], carry[word(RING, slot)])), [(0, 42), (1, 43)]);
    }
}
