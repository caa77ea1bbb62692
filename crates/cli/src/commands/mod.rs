//! One file (or folder) a command.

pub(crate) mod completions;
pub(crate) mod logits;
mod open;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod tokenize;
