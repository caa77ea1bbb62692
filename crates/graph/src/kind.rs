//! The kinds of graphs, and the kinds that a step needs.

use inkstone_tensor::Dim;
use smallvec::SmallVec;
use std::fmt;

/// The identity of a graph in a compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind {
    /// The number of its model in the compile: 0 is the target, drafters follow.
    pub of: u8,
    /// Its part of the model.
    pub part: Part,
    /// What it does in addition to that part.
    pub variant: Variants,
}

/// A part of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// Tokens to hidden rows; has buckets of rows.
    Body,
    /// Hidden rows to logits of the chosen rows; has buckets of logit rows.
    Head,
    /// Logits to records; has buckets of logit rows.
    Select,
    /// Page copies: runs before the body, on steps that have some ([`copies`](crate::copies)). One plan serves all steps.
    Copy,
}

/// A set of additions to a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variants(u8);

impl Variants {
    /// No addition.
    pub const NONE: Variants = Variants(0);
    /// Log-probabilities.
    pub const SCORED: Variants = Variants(1);

    /// All additions with their names.
    const NAMES: &[(Variants, &str)] = &[(Variants::SCORED, "scored")];

    /// Whether it has all additions of another set.
    pub const fn has(self, other: Variants) -> bool {
        self.0 & other.0 == other.0
    }

    /// The additions of both sets.
    pub const fn and(self, other: Variants) -> Variants {
        Variants(self.0 | other.0)
    }
}

impl Kind {
    /// The body of the target.
    pub const BODY: Kind = Kind::of_target(Part::Body, Variants::NONE);
    /// The head of the target.
    pub const HEAD: Kind = Kind::of_target(Part::Head, Variants::NONE);
    /// The selection of the target's tokens.
    pub const SELECT: Kind = Kind::of_target(Part::Select, Variants::NONE);
    /// The same with log-probabilities.
    pub const SELECT_SCORED: Kind = Kind::of_target(Part::Select, Variants::SCORED);
    /// The page copies of the target.
    pub const COPY: Kind = Kind::of_target(Part::Copy, Variants::NONE);

    const fn of_target(part: Part, variant: Variants) -> Kind {
        Kind { of: 0, part, variant }
    }

    /// The same kind of another model of the compile.
    pub const fn of_model(self, of: u8) -> Kind {
        Kind { of, ..self }
    }

    /// The dimension that its plans have buckets of; `None` if one plan serves all steps.
    pub(crate) fn buckets(self) -> Option<Dim> {
        match self.part {
            Part::Body => Some(Dim::Rows),
            Part::Head | Part::Select => Some(Dim::LogitRows),
            Part::Copy => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut text = format!("{:?}", self.part).to_lowercase();
        for (_, name) in Variants::NAMES.iter().filter(|(bit, _)| self.variant.has(*bit)) {
            text = format!("{text}+{name}");
        }
        if self.of > 0 {
            text = format!("{text}({})", self.of);
        }
        f.pad(&text)
    }
}

/// The results that a step of the target computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wants {
    /// Hidden rows from tokens. The further windows of logit rows of a step don't compute them again.
    pub hidden: bool,
    /// Logits.
    pub logits: bool,
    /// Tokens drawn from the logits.
    pub tokens: bool,
    /// Log-probabilities of the tokens.
    pub scores: bool,
}

/// The kinds of the graphs of a step, in order.
pub type Kinds = SmallVec<[Kind; 3]>;

impl Wants {
    /// A chunk of a prompt.
    pub const CHUNK: Wants = Wants { hidden: true, logits: false, tokens: false, scores: false };
    /// Up to logits that the host reads.
    pub const LOGITS: Wants = Wants { logits: true, ..Wants::CHUNK };
    /// Up to tokens.
    pub const TOKENS: Wants = Wants { tokens: true, ..Wants::LOGITS };
    /// Up to tokens and log-probabilities.
    pub const SCORES: Wants = Wants { scores: true, ..Wants::TOKENS };

    /// The graphs that compute them, in order.
    ///
    /// ```
    /// use inkstone_graph::{Kind, Wants};
    ///
    /// assert_eq!(Wants::TOKENS.kinds()[..], [Kind::BODY, Kind::HEAD, Kind::SELECT]);
    /// let next_window = Wants { hidden: false, ..Wants::SCORES };
    /// assert_eq!(next_window.kinds()[..], [Kind::HEAD, Kind::SELECT_SCORED]);
    /// ```
    pub fn kinds(self) -> Kinds {
        let select = if self.scores { Kind::SELECT_SCORED } else { Kind::SELECT };
        let all = [(self.hidden, Kind::BODY), (self.logits, Kind::HEAD), (self.tokens || self.scores, select)];
        all.into_iter().filter_map(|(wanted, kind)| wanted.then_some(kind)).collect()
    }
}
