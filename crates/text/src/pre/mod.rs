//! Pre-tokenizers: how byte-level BPE cuts a text into words before it merges.

mod split;
mod table;

pub(crate) use split::Splitter;
pub(crate) use table::{PreTokenizer, find, known};

/// One pass over the pieces that the pass before left. A piece is cut at both ends of each match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The matches of a pattern.
    Matches(&'static str),
    /// The matches of a pattern followed by `|\s+(?!\S)|\s+`: spaces go together, but the last one goes with the word
    /// that comes after it. (Looking ahead is done by hand, so that the patterns run in linear time.)
    MatchesOrSpaces(&'static str),
    /// Groups of three, counted from the right, in each run of characters of a class.
    Triples {
        /// The class.
        class: &'static str,
        /// Which cuts are made.
        cut: Cut,
    },
}

/// Where groups of digits are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Before each group of three.
    Before,
    /// After each group; what comes before the run stays with the first.
    After,
}
