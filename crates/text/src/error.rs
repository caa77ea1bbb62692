//! What can go wrong, by name.

use crate::template::TemplateLimit;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value of the metadata has another type than it must have.
    #[error(transparent)]
    Metadata(#[from] inkstone_gguf::Error),
    /// A key that the kind of tokenizer needs is not there.
    #[error("{key} is missing, and a {model} tokenizer needs it")]
    MissingKey {
        /// Key of the metadata.
        key: &'static str,
        /// Value of `tokenizer.ggml.model`.
        model: &'static str,
    },
    /// `tokenizer.ggml.model` names a kind that is not known.
    #[error("tokenizer model {name:?} is not known; known are: {known}")]
    UnknownModel {
        /// Name in the file.
        name: String,
        /// The names that are known, with commas.
        known: String,
    },
    /// `tokenizer.ggml.pre` names a pre-tokenizer that is not known.
    #[error("pre-tokenizer {name:?} is not known; known are: {known}")]
    UnknownPre {
        /// Name in the file.
        name: String,
        /// The names that are known, with commas.
        known: String,
    },
    /// A list has fewer entries than there are tokens.
    #[error("{key} has {found} entries for {tokens} tokens")]
    ShortList {
        /// Key of the metadata.
        key: &'static str,
        /// Entries in the list.
        found: usize,
        /// Tokens in the vocabulary.
        tokens: usize,
    },
    /// More entries than an id can count.
    #[error("{key} has {found} entries, allowed are {max}")]
    TooMany {
        /// Key of the metadata.
        key: &'static str,
        /// Entries in the list.
        found: usize,
        /// The most that are allowed.
        max: u32,
    },
    /// The text of a token is not UTF-8.
    #[error("token {id} is not UTF-8 at its byte {at}")]
    TokenNotUtf8 {
        /// Id of the token.
        id: u32,
        /// Offset of the first wrong byte.
        at: usize,
    },
    /// The type of a token is not one of the format's.
    #[error("token {id} has type {value}, allowed are 0 to 6")]
    TokenType {
        /// Id of the token.
        id: u32,
        /// Type in the file.
        value: i32,
    },
    /// A token of type byte whose text is not `<0x00>` to `<0xFF>`.
    #[error("token {id} has type byte, but its text is {text:?} and not <0x00> to <0xFF>")]
    ByteToken {
        /// Id of the token.
        id: u32,
        /// The first characters of its text.
        text: String,
    },
    /// A score that can't be ordered.
    #[error("tokenizer.ggml.scores: the score of token {id} is NaN")]
    NanScore {
        /// Id of the token.
        id: u32,
    },
    /// A special token's id is outside the vocabulary.
    #[error("{key} is {id}, but there are {tokens} tokens")]
    SpecialId {
        /// Key of the metadata.
        key: &'static str,
        /// Id in the file.
        id: u32,
        /// Tokens in the vocabulary.
        tokens: usize,
    },
    /// A token must be added to each prompt, and the file does not say which.
    #[error("{flag} is true, but {key} is not set")]
    NoSpecialId {
        /// The key, or the option, that asks for the token.
        flag: &'static str,
        /// The key that is missing.
        key: &'static str,
    },
    /// A control or user-defined token too long to be looked for in every text.
    #[error("token {id} is matched in texts and has {bytes} bytes, allowed are {max}")]
    LongSpecial {
        /// Id of the token.
        id: u32,
        /// Length of its text.
        bytes: usize,
        /// The most that is allowed.
        max: usize,
    },
    /// The control and user-defined tokens together are too long to be looked for in every text.
    #[error("the tokens that are matched in texts have more than {max} bytes together, from token {id} on")]
    LongSpecials {
        /// Token with which the limit was passed.
        id: u32,
        /// The most that is allowed.
        max: usize,
    },
    /// A text is longer than the caller allows.
    #[error("the text has {bytes} bytes, and max_bytes allows {max}")]
    TextTooLong {
        /// Length of the text.
        bytes: u64,
        /// The limit: [`Encode::max_bytes`](crate::Encode::max_bytes), or what 32-bit offsets reach.
        max: u64,
    },
    /// A byte of the text that the vocabulary can't express.
    #[error("no token for byte 0x{byte:02x} of {character:?}: the vocabulary has no byte tokens and no unknown token")]
    NoToken {
        /// The byte.
        byte: u8,
        /// The character that it is part of.
        character: char,
    },
    /// Bytes that should be text are not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 {
        /// Offset of the first wrong byte.
        at: usize,
    },
    /// A chat template that is none, or that refuses a conversation, does what can't be done or meets a limit.
    #[error("{}", of_template(.0))]
    Template(Box<inkstone_template::Error>),
    /// A variable of a chat template whose name can't be.
    #[error(
        "template variable {name:?}: allowed are 1 to 64 letters, digits and '_', the first a letter, but not {reserved}"
    )]
    TemplateVariable {
        /// Its name, the first characters.
        name: String,
        /// The names that templates have for themselves.
        reserved: String,
    },
    /// A part of a message that can't be.
    #[error("{what} is {value}, allowed: {}", message_rule(.what))]
    Message {
        /// Which part.
        what: &'static str,
        /// Its value, the first characters.
        value: String,
    },
    /// A message, a tool or a document with too many levels.
    #[error("a message, a tool or a document is nested more than {max} deep")]
    TooDeep {
        /// The most that is allowed.
        max: usize,
    },
    /// An allocation failed.
    #[error("no memory for {what}")]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
    },
}

/// The first line: what is wrong with the template, and where.
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

/// The option that sets a limit.
fn option(limit: TemplateLimit) -> &'static str {
    match limit {
        TemplateLimit::Steps => "template_steps",
        TemplateLimit::Memory => "template_memory",
        TemplateLimit::Output => "template_output",
        _ => "of the interpreter",
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
    /// The error of a chat template: its kind, its place, the source line.
    pub fn template(&self) -> Option<&inkstone_template::Error> {
        if let Error::Template(error) = self { Some(error) } else { None }
    }

    /// The name of the option whose limit a chat template met: `template_steps`, `template_memory`, `template_output`.
    pub fn template_limit(&self) -> Option<&'static str> {
        self.template()?.limit().map(option)
    }

    /// Whether a chat template was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.template().is_some_and(|error| error.kind() == inkstone_template::Kind::Cancelled)
    }

    /// For `map_err` of `try_reserve`.
    pub(crate) fn memory<E>(what: &'static str) -> impl FnOnce(E) -> Error {
        move |_| Error::OutOfMemory { what }
    }
}
