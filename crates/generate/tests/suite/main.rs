//! The scheduler on the reference engine, with a model whose outcome a few lines compute.

mod ahead;
mod batch;
mod beams;
mod callbacks;
mod ends;
mod failures;
mod host;
mod inbox;
mod lists;
mod options;
mod preemption;
mod prefix;
mod profile;
mod random;
mod rig;
mod scores;
mod session_files;
mod sessions;
mod soak;
mod stop_texts;
mod windows;
