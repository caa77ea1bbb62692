//! The inputs of a step. The host writes one small *step buffer* (a [`Header`] and sections of records); the state
//! that a sequence keeps between steps is on the device, in the [`carry`]. `begin_step` derives tokens, positions and
//! cache places from both, so that a step can be submitted before the host knows the tokens of the previous step. The
//! same form serves prefill, decode and any mixture of sequences.

mod buffer;
pub mod carry;
mod copies;
pub mod record;
mod sampler;
mod view;

pub use buffer::{LogitWish, SeqStep, StepBuffer};
pub use sampler::Sampler;
pub use view::{StepError, StepView, page, rows};

use crate::{Dim, Type};
use bytemuck::{Pod, Zeroable};

/// Sequences that can be resident at once: slots of the carry.
pub const SEQS: usize = 64;

/// The largest number of page tables of a sequence: one per layer group (full attention is group 0).
pub const GROUPS: usize = 4;

/// The largest number of page copies in a step: one per sequence and layer group.
pub const COPIES: usize = SEQS * GROUPS;

/// In the feed: the token that this sequence drew last.
pub const LAST: u32 = u32::MAX;
/// No token, no sampler, no index.
pub const NONE: u32 = u32::MAX;
/// Records below this are tokens; the others are statuses: [`record`].
pub const TOKENS_END: u32 = u32::MAX - 0xffff;

/// The head of a step buffer. Its sections tell where the records are, whatever their order and the gaps between them, so
/// that a reader of some sections doesn't change when another one is added.
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
    /// The sections, by their constants: [`SECTION_SEQS`] and the following.
    pub sections: [Section; SECTIONS],
}

/// Where the records of one kind are.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Section {
    /// The first word, counted from the beginning of the buffer.
    pub at: u32,
    /// The number of words.
    pub words: u32,
}

/// The number of sections.
pub const SECTIONS: usize = 6;
/// A [`Seq`] for each sequence.
pub const SECTION_SEQS: usize = 0;
/// A word for each row: its token, or [`LAST`].
pub const SECTION_FEED: usize = 1;
/// A [`LogitRow`] for each row whose logits are wanted.
pub const SECTION_LOGITS: usize = 2;
/// Page tables.
pub const SECTION_PAGES: usize = 3;
/// Sampling chains.
pub const SECTION_SAMPLERS: usize = 4;
/// A [`PageCopy`] for each page that is copied.
pub const SECTION_COPIES: usize = 5;

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
    /// Where its sampling chain begins in its section, or [`NONE`].
    pub sampler_at: u32,
    /// Its page table in each layer group.
    pub tables: [Table; GROUPS],
}

/// The page table of a sequence in a layer group.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Table {
    /// Where it begins in the section of page tables.
    pub at: u32,
    /// The number of its pages. A page that was given back is [`NONE`]: no row may read it.
    pub pages: u32,
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

/// A page that is copied before rows write: the first `places` places of page `from` go to page `to`, in all states of the
/// layer group. So a sequence gets a page of its own in place of a page that it shares.
///
/// Within a layer group no page is the target of two copies, and none is both a source and a target, so that the order
/// of the copies does not matter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct PageCopy {
    /// The layer group.
    pub group: u32,
    /// The page whose places are read.
    pub from: u32,
    /// The page whose places are written.
    pub to: u32,
    /// The number of places, at most those of a page.
    pub places: u32,
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
