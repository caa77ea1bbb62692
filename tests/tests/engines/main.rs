//! The library on every engine: one program, because linking an engine and a model takes longer than compiling a file of tests.

mod async_stream;
mod bad_archs;
mod bad_model;
mod bad_options;
mod chat;
mod computed_tokens;
mod cpu;
mod devices;
mod entry_points;
mod fusion;
mod going_back;
mod host_draws;
mod hostile_files;
mod invariance;
mod lists;
mod memory;
mod phases;
mod plan;
mod scheduler;
mod shared_pages;
mod step_by_step;
mod streaming;
mod threads;
