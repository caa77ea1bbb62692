//! The carry: what each sequence slot keeps on the device between steps. A table of words `[field][slot]`; its last
//! rows are a ring of the records of the last steps, which is all that the host reads back.

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
