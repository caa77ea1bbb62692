//! Pre-tokenizers, which split a text into words before byte-level BPE merges their bytes.

mod split;
mod table;

pub(crate) use split::Splitter;
pub(crate) use table::{PreTokenizer, find, known};

/// One pass over the pieces that the previous pass produced. A piece is split at both ends of each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The matches of a pattern.
    Matches(&'static str),
    /// The matches of a pattern followed by `|\s+(?!\S)|\s+`: a run of spaces is one piece, except that its last space
    /// belongs to the following word. (The lookahead is implemented in code, so that the patterns run in linear time.)
    MatchesOrSpaces(&'static str),
    /// Groups of three, counted from the right, in each run of characters of a class.
    Triples {
        /// The class.
        class: &'static str,
        /// The position of the cuts.
        cut: Cut,
    },
}

/// The position of a cut relative to a group of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Before each group of three.
    Before,
    /// After each group. The text before the run stays with the first group.
    After,
}
