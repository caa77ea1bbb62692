//! The inputs of a step. The host writes one small *step buffer* (a [`Header`], then sections of records); the state
//! that a sequence keeps between steps is on the device, in the [`carry`]. `begin_step` derives tokens, positions and
//! cache places from both, so that a step can be submitted before the host knows the tokens of the previous step. The
//! same form serves prefill, decode and any mixture of sequences.

mod buffer;
pub mod carry;
pub mod record;
mod sampler;
mod view;

pub use buffer::{LogitWish, SeqStep, StepBuffer};
pub use sampler::Sampler;
pub use view::{StepError, StepView, rows};

use crate::{Dim, Type};
use bytemuck::{Pod, Zeroable};

/// Sequences that can be resident at once: slots of the carry.
pub const SEQS: usize = 64;

/// The largest number of page tables of a sequence: one per layer group (full attention is group 0).
pub const GROUPS: usize = 4;

/// In the feed: the token that this sequence drew last.
pub const LAST: u32 = u32::MAX;
/// No token, no sampler, no index.
pub const NONE: u32 = u32::MAX;
/// Records below this are tokens; the others are statuses: [`record`].
pub const TOKENS_END: u32 = u32::MAX - 0xffff;

/// The head of a step buffer. It is followed by `seqs` records of [`Seq`], `rows` words of feed, `logits` records of
/// [`LogitRow`], `pages` words of page tables and `samplers` words of sampling chains.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Header {
    /// Tokens in this step.
    pub rows: u32,
    /// Sequences in this step.
    pub seqs: u32,
    /// Rows whose logits are wanted, in the whole step.
    pub logits: u32,
    /// The first of them that this run of the head computes ...
    pub logit_first: u32,
    /// ... and how many: the value of [`Dim::LogitRows`].
    pub logit_rows: u32,
    /// Tokens per page.
    pub page: u32,
    /// Words of page tables.
    pub pages: u32,
    /// Words of sampling chains.
    pub samplers: u32,
}

/// A sequence's part of a step.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Seq {
    /// Its slot in the carry.
    pub slot: u32,
    /// Its first row; rows of a sequence are neighbours, in order.
    pub first_row: u32,
    /// How many.
    pub rows: u32,
    /// Where its page table begins, for each layer group.
    pub pages_at: [u32; GROUPS],
    /// Pages in each of its tables.
    pub pages: u32,
    /// Where its sampling chain begins, or [`NONE`].
    pub sampler_at: u32,
}

/// A row whose logits are wanted.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct LogitRow {
    /// The row.
    pub row: u32,
    /// Index of its sequence in this step.
    pub seq: u32,
}

/// One token of this step: derived by `begin_step`, never written by the host.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Row {
    /// Token id.
    pub token: u32,
    /// Its position in the sequence, from 0.
    pub position: u32,
    /// Index of its sequence in this step.
    pub seq: u32,
}

/// The type of the rows that `begin_step` derives.
pub const ROWS: Type = Type::u32(Dim::Rows, size_of::<Row>() / 4);
/// The type of the records that `sample` makes: a token or a status a logit row.
pub const RECORDS: Type = Type::u32(Dim::LogitRows, 1);
