//! The errors of the crate.

use crate::template::TemplateLimit;
use inkstone_gguf::ErrorKind;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value of the metadata has the wrong type.
    #[error(transparent)]
    Metadata(#[from] inkstone_gguf::Error),
    /// A key that the kind of tokenizer requires is missing.
    #[error("{key} is missing, and a {model} tokenizer needs it")]
    MissingKey {
        /// Key of the metadata.
        key: &'static str,
        /// Value of `tokenizer.ggml.model`.
        model: &'static str,
    },
    /// `tokenizer.ggml.model` names an unknown kind of tokenizer.
    #[error("tokenizer model {name:?} is not known; known are: {known}")]
    UnknownModel {
        /// Name in the file.
        name: String,
        /// The known names, separated by commas.
        known: String,
    },
    /// `tokenizer.ggml.pre` names an unknown pre-tokenizer.
    #[error("pre-tokenizer {name:?} is not known; known are: {known}")]
    UnknownPre {
        /// Name in the file.
        name: String,
        /// The known names, separated by commas.
        known: String,
    },
    /// A list has fewer entries than the vocabulary has tokens.
    #[error("{key} has {found} entries for {tokens} tokens")]
    ShortList {
        /// Key of the metadata.
        key: &'static str,
        /// Entries in the list.
        found: usize,
        /// Tokens in the vocabulary.
        tokens: usize,
    },
    /// A list has more entries than there are ids.
    #[error("{key} has {found} entries, allowed are {max}")]
    TooMany {
        /// Key of the metadata.
        key: &'static str,
        /// Entries in the list.
        found: usize,
        /// The largest number that is allowed.
        max: u32,
    },
    /// The text of a token is not UTF-8.
    #[error("token {id} is not UTF-8 at its byte {at}")]
    TokenNotUtf8 {
        /// Id of the token.
        id: u32,
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// The type of a token is not defined by the format.
    #[error("token {id} has type {value}, allowed are 0 to 6")]
    TokenType {
        /// Id of the token.
        id: u32,
        /// Type in the file.
        value: i32,
    },
    /// The text of a token of type byte is not `<0x00>` to `<0xFF>`.
    #[error("token {id} has type byte, but its text is {text:?} and not <0x00> to <0xFF>")]
    ByteToken {
        /// Id of the token.
        id: u32,
        /// The first characters of its text.
        text: String,
    },
    /// The score of a token is NaN, so tokens can't be ordered by score.
    #[error("tokenizer.ggml.scores: the score of token {id} is NaN")]
    NanScore {
        /// Id of the token.
        id: u32,
    },
    /// The id of a special token is outside the vocabulary.
    #[error("{key} is {id}, but there are {tokens} tokens")]
    SpecialId {
        /// Key of the metadata.
        key: &'static str,
        /// Id in the file.
        id: u32,
        /// Tokens in the vocabulary.
        tokens: usize,
    },
    /// A special token must be added to each prompt, but the file does not name it.
    #[error("{flag} is true, but {key} is not set")]
    NoSpecialId {
        /// The key or the option that requests the token.
        flag: &'static str,
        /// The missing key.
        key: &'static str,
    },
    /// A control or user-defined token is too long to be matched in every text.
    #[error("token {id} is matched in texts and has {bytes} bytes, allowed are {max}")]
    LongSpecial {
        /// Id of the token.
        id: u32,
        /// Length of its text.
        bytes: usize,
        /// The largest size that is allowed.
        max: usize,
    },
    /// The control and user-defined tokens together are too long to be matched in every text.
    #[error("the tokens that are matched in texts have more than {max} bytes together, from token {id} on")]
    LongSpecials {
        /// The token that exceeds the limit.
        id: u32,
        /// The largest size that is allowed.
        max: usize,
    },
    /// A text exceeds the limit of the caller.
    #[error("the text has {bytes} bytes, and max_bytes allows {max}")]
    TextTooLong {
        /// Length of the text.
        bytes: u64,
        /// The limit: [`Encode::max_bytes`](crate::Encode::max_bytes), or the range of 32-bit offsets.
        max: u64,
    },
    /// The vocabulary has no token for a byte of the text.
    #[error("no token for byte 0x{byte:02x} of {character:?}: the vocabulary has no byte tokens and no unknown token")]
    NoToken {
        /// The byte.
        byte: u8,
        /// The character that contains it.
        character: char,
    },
    /// Bytes are not UTF-8 text.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// A chat template has a syntax error, refuses a conversation, fails while it is rendered or exceeds a limit.
    #[error("{}", of_template(.0))]
    Template(Box<inkstone_template::Error>),
    /// The name of a template variable is invalid.
    #[error(
        "template variable {name:?}: allowed are 1 to 64 letters, digits and '_', the first a letter, but not {reserved}"
    )]
    TemplateVariable {
        /// The first characters of the name.
        name: String,
        /// The reserved names.
        reserved: String,
    },
    /// A part of a message is invalid.
    #[error("{what} is {value}, allowed: {}", message_rule(.what))]
    Message {
        /// The name of the part.
        what: &'static str,
        /// The first characters of its value.
        value: String,
    },
    /// A message, a tool or a document is nested too deeply.
    #[error("a message, a tool or a document is nested more than {max} deep")]
    TooDeep {
        /// The largest size that is allowed.
        max: usize,
    },
    /// An allocation failed.
    #[error("no memory for {what}")]
    OutOfMemory {
        /// The purpose of the memory.
        what: &'static str,
    },
}

/// The first line of the error: the place in the template and the message.
fn of_template(error: &inkstone_template::Error) -> String {
    use inkstone_template::Kind;
    let (line, column, message) = (error.line(), error.column(), error.message());
    let place = format!("the chat template in line {line}, column {column}");
    match error.kind() {
        Kind::Refused => format!("{place}, refuses: {message}"),
        Kind::Limit(limit) => format!("{place}, meets the limit {}: {message}", option(limit)),
        _ => format!("{place}: {message}"),
    }
}

/// The name of the option that sets a limit.
fn option(limit: TemplateLimit) -> &'static str {
    match limit {
        TemplateLimit::Steps => "template_steps",
        TemplateLimit::Memory => "template_memory",
        TemplateLimit::Output => "template_output",
        _ => "of the interpreter",
    }
}

/// A template that does not compile, or that uses a forbidden attribute, is a fault of the file. All other failures depend on
/// the conversation.
fn kind_of_template(kind: inkstone_template::Kind) -> ErrorKind {
    use inkstone_template::Kind;
    match kind {
        Kind::Syntax | Kind::Sandbox => ErrorKind::Unsupported,
        Kind::Cancelled | Kind::Deadline => ErrorKind::Cancelled,
        // Refused, Runtime, Undefined, Limit.
        _ => ErrorKind::InvalidRequest,
    }
}

fn message_rule(what: &str) -> &'static str {
    match what {
        "a message" => "an object with role and content",
        _ => "1 to 64 letters, digits, '_', '-' and '.'",
    }
}

impl From<inkstone_template::Error> for Error {
    fn from(error: inkstone_template::Error) -> Error {
        Error::Template(Box::new(error))
    }
}

impl Error {
    /// The kind of the error: how a program reacts to it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Metadata(error) => error.kind(),
            Error::Template(error) => kind_of_template(error.kind()),
            Error::MissingKey { .. }
            | Error::UnknownModel { .. }
            | Error::UnknownPre { .. }
            | Error::ShortList { .. }
            | Error::TooMany { .. }
            | Error::TokenNotUtf8 { .. }
            | Error::TokenType { .. }
            | Error::ByteToken { .. }
            | Error::NanScore { .. }
            | Error::SpecialId { .. }
            | Error::NoSpecialId { .. }
            | Error::LongSpecial { .. }
            | Error::LongSpecials { .. } => ErrorKind::Unsupported,
            Error::TextTooLong { .. }
            | Error::NoToken { .. }
            | Error::NotUtf8 { .. }
            | Error::TemplateVariable { .. }
            | Error::Message { .. }
            | Error::TooDeep { .. } => ErrorKind::InvalidRequest,
            Error::OutOfMemory { .. } => ErrorKind::OutOfMemory,
        }
    }

    /// The error of a chat template, with its kind, its place and the source line.
    pub fn template(&self) -> Option<&inkstone_template::Error> {
        if let Error::Template(error) = self { Some(error) } else { None }
    }

    /// The name of the limit that a chat template exceeded: `template_steps`, `template_memory`, `template_output`.
    pub fn template_limit(&self) -> Option<&'static str> {
        self.template()?.limit().map(option)
    }

    /// Whether the rendering of a chat template was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.template().is_some_and(|error| error.kind() == inkstone_template::Kind::Cancelled)
    }

    /// The error of a failed `try_reserve`, for `map_err`.
    pub(crate) fn memory<E>(what: &'static str) -> impl FnOnce(E) -> Error {
        move |_| Error::OutOfMemory { what }
    }
}
