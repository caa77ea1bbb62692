//! Chat templates: from messages to the text that a model was trained to answer.
//!
//! A template is a Jinja program inside a model file. It may be anybody's, so it runs with limits: [`MAX_SOURCE`],
//! [`MAX_STEPS`], [`MAX_OUTPUT`], [`MAX_MEMORY`], on a thread of its own whose stack fits what the limits allow. It sees the conversation
//! and the special tokens, `raise_exception` and `strftime_now`, and nothing of the machine.

mod clock;
mod guard;
mod json;
mod machine;
mod message;
mod meter;
mod metered;

pub use machine::{MAX_OUTPUT, MAX_SOURCE, MAX_STEPS};
pub use message::{Conversation, MAX_DEPTH, Message};
pub use meter::MAX_MEMORY;

use crate::{Error, Tokenizer};
use guard::Guard;
use inkstone_gguf::Metadata;
use machine::{Inputs, Machine};

/// The form of models that bring none: `role: content`, a line each. Lines of a text after its first are set in, so that
/// a line that begins with a role is never a user's.
const PLAIN: &str = "\
{%- for message in messages -%}
{{ message.role }}: {{ (message.content or '')
    | replace('\r\n', '\n') | replace('\r', '\n') | replace('\x0b', '\n') | replace('\x0c', '\n')
    | replace('\u{85}', '\n') | replace('\u{2028}', '\n') | replace('\u{2029}', '\n') | replace('\n', '\n  ') }}
{% endfor -%}
{%- if add_generation_prompt -%}assistant:{%- endif -%}
";

/// Texts that begin a turn which is not the model's own, in the plain form.
const PLAIN_STOPS: &[&str] = &["\nuser:", "\nsystem:", "\nassistant:"];

/// What makes a prompt of a conversation.
///
/// ```
/// use inkstone_gguf::Metadata;
/// use inkstone_text::{ChatTemplate, Conversation, Message, Tokenizer};
///
/// let mut metadata = Metadata::new();
/// metadata.insert("tokenizer.ggml.model", "gpt2");
/// metadata.insert("tokenizer.ggml.pre", "gpt-2");
/// metadata.insert("tokenizer.ggml.tokens", vec!["h", "i"]);
/// metadata.insert("tokenizer.ggml.merges", Vec::<String>::new());
/// let tokenizer = Tokenizer::from_metadata(&metadata)?;
/// let template = ChatTemplate::from_metadata(&metadata)?.unwrap_or_default();
/// let rendered = template.render(&Conversation::new(vec![Message::user("hi")]), &tokenizer)?;
/// assert_eq!(rendered.text(), "user: hi\nassistant:");
/// # Ok::<(), inkstone_text::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatTemplate {
    source: String,
    /// For conversations with tools, where the file has one.
    with_tools: Option<String>,
    plain: bool,
}

/// The plain form.
impl Default for ChatTemplate {
    fn default() -> ChatTemplate {
        ChatTemplate { source: PLAIN.to_string(), with_tools: None, plain: true }
    }
}

impl ChatTemplate {
    /// A template of this source.
    ///
    /// # Errors
    /// A source that is too long or has a fault of syntax; the line is named.
    pub fn new(source: impl Into<String>) -> Result<ChatTemplate, Error> {
        let source = source.into();
        machine::check(&source)?;
        Ok(ChatTemplate { source, with_tools: None, plain: false })
    }

    /// The template of a file, if it has one: `tokenizer.chat_template`, and `tokenizer.chat_template.tool_use` for
    /// conversations with tools.
    ///
    /// # Errors
    /// As [`ChatTemplate::new`], or a key of another type.
    pub fn from_metadata(metadata: &Metadata) -> Result<Option<ChatTemplate>, Error> {
        let Some(source) = metadata.str("tokenizer.chat_template")? else { return Ok(None) };
        let mut template = ChatTemplate::new(source)?;
        if let Some(source) = metadata.str("tokenizer.chat_template.tool_use")? {
            machine::check(source)?;
            template.with_tools = Some(source.to_string());
        }
        Ok(Some(template))
    }

    /// Its source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is the plain form and not a model's own.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Texts that end an answer, beside the end tokens of the vocabulary.
    pub fn stops(&self) -> &'static [&'static str] {
        if self.plain { PLAIN_STOPS } else { &[] }
    }

    /// The prompt of a conversation.
    ///
    /// Special tokens are those that the template writes: a text of the conversation that looks like one stays text. For
    /// that, marks stand in the texts where such a token begins and before the rest of one at a text's start. The template
    /// sees them as a character that nothing else has, and compares, trims and cuts texts as ever. Where a text has the
    /// first character of such a token at all, the conversation is rendered a second time with a mark at each of
    /// them; if the two have different special tokens, as when a template joins what was apart, the second is taken.
    ///
    /// # Errors
    /// What the template refuses or can't do, and its limits.
    pub fn render(&self, conversation: &Conversation, tokenizer: &Tokenizer) -> Result<Rendered, Error> {
        conversation.check()?;
        let source = match &self.with_tools {
            Some(source) if !conversation.tools.is_empty() => source,
            _ => &self.source,
        };
        let guard = Guard::new(tokenizer, source, conversation)?;
        let render = |eager: bool| -> Result<Rendered, Error> {
            let inputs = Inputs::new(conversation, tokenizer, |text| guard.mark(text, eager));
            Ok(guard.unmark(&Machine { source }.render(&inputs)?))
        };
        let rendered = render(false)?;
        if !guard.suspects(conversation) {
            return Ok(rendered);
        }
        let careful = render(true)?;
        let ids = |rendered| tokenizer.control_tokens(rendered).map(|(_, id)| id);
        let same = ids(&rendered).eq(ids(&careful));
        Ok(if same { rendered } else { careful })
    }
}

/// A prompt: its text, and where in it no special token may begin or go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    text: String,
    /// Byte offsets, ascending.
    marks: Vec<usize>,
}

impl Rendered {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Offsets of the characters at which no control token begins, and which none has inside.
    pub(crate) fn marks(&self) -> &[usize] {
        &self.marks
    }
}
