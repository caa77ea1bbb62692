//! Chat templates, which turn messages into the text that a model was trained to answer.
//!
//! A template is a Jinja program inside a model file. Since it is untrusted, it runs in the interpreter of
//! `inkstone-template` with limits ([`TemplateLimits`]). It has access to the conversation, the special tokens,
//! `raise_exception` and `strftime_now`, but not to the machine. The interpreter records for each byte of the prompt
//! whether the template wrote it, and special tokens are matched only in bytes that the template wrote.

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

/// The plain form, for models without a template: a line `role: content` per message. The second and later lines of a
/// message are indented, so that no line of a user's text begins with a role.
const PLAIN: &str = r"{%- for message in messages -%}
{{ message.role }}: {{ (message.content or '')
    | replace('\r\n', '\n') | replace('\r', '\n') | replace('\x0b', '\n') | replace('\x0c', '\n')
    | replace('\u0085', '\n') | replace('\u2028', '\n') | replace('\u2029', '\n') | replace('\n', '\n  ') }}
{% endfor -%}
{%- if add_generation_prompt -%}assistant:{%- endif -%}
";

/// Texts that begin another turn in the plain form.
const PLAIN_STOPS: &[&str] = &["\nuser:", "\nsystem:", "\nassistant:"];

/// A compiled chat template, which makes prompts from conversations.
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
    /// The template for conversations with tools, if the file has a separate one.
    with_tools: Option<Program>,
    plain: bool,
}

/// A compiled template.
#[derive(Clone, Debug)]
struct Program {
    source: Arc<str>,
    template: Template,
    /// The form of tool-call arguments that it expects, found on first use.
    arguments: Arc<OnceLock<Arguments>>,
}

impl Program {
    fn new(source: &str) -> Result<Program, Error> {
        Ok(Program { source: source.into(), template: Template::new(source)?, arguments: Arc::default() })
    }
}

/// Templates are equal if their sources are equal.
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
    /// Compiles a template.
    ///
    /// # Errors
    /// The source is too long, or has a syntax error, whose line and column the error names.
    pub fn new(source: impl AsRef<str>) -> Result<ChatTemplate, Error> {
        Ok(ChatTemplate { main: Program::new(source.as_ref())?, with_tools: None, plain: false })
    }

    /// The template of a file, if it has one: `tokenizer.chat_template`, and `tokenizer.chat_template.tool_use` for
    /// conversations with tools.
    ///
    /// # Errors
    /// Like [`ChatTemplate::new`], or a key has the wrong type.
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

    /// Whether this is the plain form instead of a template of a model.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether it uses the tools of a conversation.
    pub fn reads_tools(&self) -> bool {
        self.with_tools.as_ref().unwrap_or(&self.main).template.reads("tools")
    }

    /// Texts that end an answer, in addition to the end tokens of the vocabulary.
    pub fn stops(&self) -> &'static [&'static str] {
        if self.plain { PLAIN_STOPS } else { &[] }
    }

    /// Renders the prompt of a conversation, with limits that grow with the conversation.
    ///
    /// Only text written by the template can become special tokens. A text of the conversation that looks like a
    /// special token stays plain text.
    ///
    /// # Errors
    /// The template refuses the conversation, fails, or exceeds a limit.
    pub fn render(&self, conversation: &Conversation, tokenizer: &Tokenizer) -> Result<Rendered, Error> {
        self.render_within(conversation, tokenizer, &TemplateLimits::default())
    }

    /// Renders the prompt of a conversation with the given limits.
    ///
    /// # Errors
    /// Like [`ChatTemplate::render`].
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
