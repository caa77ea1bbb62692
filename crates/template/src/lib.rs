//! Chat templates: a Jinja interpreter with limits, whose texts know where they come from.
//!
//! A template is anybody's program, so all that it does is counted: steps, bytes, output ([`Limits`]). Whatever it does with
//! texts, each byte of the output says whether it comes from the template or from the conversation ([`Output::runs`]), so that
//! only the template writes special tokens. The language is that of Jinja 3.1 as transformers sets it up for chat templates.
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
