//! Chat templates: from messages to the text that a model was trained to answer.
//!
//! A template is a Jinja program inside a model file. It may be anybody's, so it runs in the interpreter of `inkstone-template`
//! with limits ([`TemplateLimits`]). It sees the conversation and the special tokens, `raise_exception` and `strftime_now`, and
//! nothing of the machine. The interpreter tells for each byte of the prompt whether the template wrote it: special tokens are
//! found in such bytes only.

mod arguments;
mod limits;
mod message;
mod rendered;
mod values;

pub use inkstone_template::{Limit as TemplateLimit, MAX_SOURCE, Origin};
pub use limits::TemplateLimits;
pub use message::{Conversation, MAX_DEPTH, Message};
pub use rendered::Rendered;

use crate::{Error, Tokenizer};
use arguments::Arguments;
use inkstone_gguf::Metadata;
use inkstone_template::Template;
use std::sync::{Arc, OnceLock};

/// The form of models that bring none: `role: content`, a line each. Lines of a text after its first are set in, so that
/// a line that begins with a role is never a user's.
const PLAIN: &str = r"{%- for message in messages -%}
{{ message.role }}: {{ (message.content or '')
    | replace('\r\n', '\n') | replace('\r', '\n') | replace('\x0b', '\n') | replace('\x0c', '\n')
    | replace('\u0085', '\n') | replace('\u2028', '\n') | replace('\u2029', '\n') | replace('\n', '\n  ') }}
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
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    main: Program,
    /// For conversations with tools, where the file has one.
    with_tools: Option<Program>,
    plain: bool,
}

/// A template, compiled.
#[derive(Clone, Debug)]
struct Program {
    source: Arc<str>,
    template: Template,
    /// How it wants the arguments of calls, once that was asked for.
    arguments: Arc<OnceLock<Arguments>>,
}

impl Program {
    fn new(source: &str) -> Result<Program, Error> {
        Ok(Program { source: source.into(), template: Template::new(source)?, arguments: Arc::default() })
    }
}

/// Equal are templates of the same source.
impl PartialEq for ChatTemplate {
    fn eq(&self, other: &ChatTemplate) -> bool {
        let with_tools = |template: &ChatTemplate| template.with_tools.as_ref().map(|program| program.source.clone());
        self.main.source == other.main.source && with_tools(self) == with_tools(other) && self.plain == other.plain
    }
}

impl Eq for ChatTemplate {}

/// The plain form.
impl Default for ChatTemplate {
    fn default() -> ChatTemplate {
        let main = Program::new(PLAIN).expect("the plain form is a template, as a test says");
        ChatTemplate { main, with_tools: None, plain: true }
    }
}

impl ChatTemplate {
    /// A template of this source.
    ///
    /// # Errors
    /// A source that is too long or has a fault of syntax; line and column are named.
    pub fn new(source: impl AsRef<str>) -> Result<ChatTemplate, Error> {
        Ok(ChatTemplate { main: Program::new(source.as_ref())?, with_tools: None, plain: false })
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
            template.with_tools = Some(Program::new(source)?);
        }
        Ok(Some(template))
    }

    /// Its source.
    pub fn source(&self) -> &str {
        &self.main.source
    }

    /// Whether it is the plain form and not a model's own.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether it tells the model of the tools of a conversation.
    pub fn reads_tools(&self) -> bool {
        self.with_tools.as_ref().unwrap_or(&self.main).template.reads("tools")
    }

    /// Texts that end an answer, in addition to the end tokens of the vocabulary.
    pub fn stops(&self) -> &'static [&'static str] {
        if self.plain { PLAIN_STOPS } else { &[] }
    }

    /// The prompt of a conversation, within limits that grow with it.
    ///
    /// Special tokens are those that the template writes: a text of the conversation that looks like one stays text, whatever
    /// the template does with it.
    ///
    /// # Errors
    /// What the template refuses or can't do, and its limits.
    pub fn render(&self, conversation: &Conversation, tokenizer: &Tokenizer) -> Result<Rendered, Error> {
        self.render_within(conversation, tokenizer, &TemplateLimits::default())
    }

    /// The prompt of a conversation, within limits of the caller's.
    ///
    /// # Errors
    /// As [`ChatTemplate::render`].
    pub fn render_within(
        &self,
        conversation: &Conversation,
        tokenizer: &Tokenizer,
        limits: &TemplateLimits,
    ) -> Result<Rendered, Error> {
        conversation.check()?;
        let program = match &self.with_tools {
            Some(program) if !conversation.tools.is_empty() => program,
            _ => &self.main,
        };
        let arguments = if arguments::has_calls(conversation) {
            *program.arguments.get_or_init(|| arguments::wanted(&program.template, tokenizer))
        } else {
            Arguments::Either
        };
        let output = values::render(&program.template, conversation, tokenizer, arguments, limits)?;
        Ok(Rendered::new(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_form_is_a_template() {
        assert!(ChatTemplate::default().is_plain());
    }

    #[test]
    fn templates_say_whether_they_read_tools() {
        let reads = |source: &str| ChatTemplate::new(source).unwrap().reads_tools();
        assert!(reads("{% for tool in tools %}{{ tool | tojson }}{% endfor %}"));
        assert!(!reads("{% set tools = [] %}{{ messages[0].tools }}"));
        assert!(!ChatTemplate::default().reads_tools());
    }
}
