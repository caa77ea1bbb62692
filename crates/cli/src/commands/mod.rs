//! The commands: one file or folder each.

pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod chat;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod doctor;
mod events;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod logits;
mod open;
mod profile;
mod prompt;
mod results;
pub(crate) mod run;
mod session;
pub(crate) mod show;
mod table;
pub(crate) mod template;
pub(crate) mod tokenize;
