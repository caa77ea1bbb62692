//! Tokenizers and chat templates.

mod bad_inputs;
mod oracle;
mod templates;
