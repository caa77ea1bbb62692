//! An interpreter of chat templates: Jinja with limits, which tracks the origin of each byte.
//!
//! Templates are untrusted programs, so their steps, memory and output are counted and limited ([`Limits`]). Each byte
//! of the output records whether it comes from the template or from the conversation ([`Output::runs`]), for all
//! operations on texts, so that only the template can write special tokens. The language is Jinja 3.1, configured as in
//! transformers for chat templates.
//!
//! ```
//! use inkstone_template::{Limits, Origin, Template};
//!
//! let template = Template::new("{% for m in messages %}<{{ m | upper }}>{% endfor %}")?;
//! let limits = Limits::default();
//! let mut renderer = template.renderer(&limits);
//! let hi = renderer.text("hi", Origin::Input)?;
//! let messages = renderer.list(vec![hi])?;
//! renderer.set("messages", messages);
//! let output = renderer.render()?;
//! assert_eq!(output.text, "<HI>");
//! assert_eq!(output.runs, [(0..1, Origin::Template), (1..3, Origin::Input), (3..4, Origin::Template)]);
//! # Ok::<(), inkstone_template::Error>(())
//! ```

mod access;
mod args;
mod checks;
mod clock;
mod compare;
mod compile;
mod dict;
mod env;
mod error;
mod filters;
mod format;
mod generator;
mod globals;
mod html;
mod iterate;
mod loops;
mod machine;
mod meter;
mod methods;
mod number;
mod operators;
mod parse;
mod print;
mod program;
mod python;
mod range;
mod render;
mod seq;
mod slice;
mod text;
mod value;

pub use error::{Call, Error, Kind};
pub use meter::{Limit, Limits};
pub use render::{Given, MAX_SOURCE, Output, Renderer, Template};
pub use text::Origin;
