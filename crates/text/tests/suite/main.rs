//! Tokenizers and chat templates.

mod bad_inputs;
mod bad_templates;
mod input;
mod oracle;
mod safety;
mod templates;
