//! A chain of stages as data.

use super::{ChainError, Stage, StageRef};
use std::fmt;

/// The stages that logits go through, in this order; then a token is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain(
    /// The stages, first to last.
    pub Vec<Stage>,
);

impl Chain {
    /// A chain of these stages in the usual order, without the neutral ones.
    pub fn in_order(stages: impl IntoIterator<Item = Stage>) -> Chain {
        let mut stages: Vec<Stage> = stages.into_iter().filter(|s| !s.as_ref().is_neutral()).collect();
        stages.sort_by_key(|s| s.as_ref().rank());
        Chain(stages)
    }

    /// Whether all numbers are in their ranges and all tokens in a vocabulary of `vocab`. The functions of this module
    /// never panic on a chain that isn't checked, but what they then give means nothing.
    pub fn check(&self, vocab: usize) -> Result<(), ChainError> {
        self.into_iter().try_for_each(|stage| stage.check(vocab))
    }
}

/// The borrowed stages of a [`Chain`].
impl<'a> IntoIterator for &'a Chain {
    type Item = StageRef<'a>;
    type IntoIter = std::iter::Map<std::slice::Iter<'a, Stage>, fn(&'a Stage) -> StageRef<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(Stage::as_ref)
    }
}

/// `temperature 0.8 | top-k 40 | draw`
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        print(f, self)
    }
}

/// Prints the stages and the draw at their end, including the stages after a temperature of 0, which are skipped.
pub(super) fn print<'a>(f: &mut fmt::Formatter, stages: impl IntoIterator<Item = StageRef<'a>>) -> fmt::Result {
    let mut end = "draw";
    for stage in stages {
        write!(f, "{stage} | ")?;
        if stage == StageRef::Temperature(0.0) {
            end = "arg-max";
        }
    }
    f.write_str(end)
}
