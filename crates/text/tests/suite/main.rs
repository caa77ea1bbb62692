//! Tokenizers and chat templates.

mod bad_inputs;
mod input;
mod oracle;
mod templates;
