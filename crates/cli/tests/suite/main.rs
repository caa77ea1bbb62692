//! The program, as a user runs it.

mod batch;
mod bench;
mod chat;
mod command_line;
mod common;
mod corpus;
mod doctor;
mod environment;
mod explain;
mod files;
mod generation;
mod interrupts;
mod list;
mod output;
mod run;
mod sessions;
mod template;
mod terminal;
