//! Tokenizers and chat templates.

mod bad_inputs;
mod bad_templates;
mod oracle;
mod templates;
