//! Makes a tokenizer from the metadata of a GGUF file (keys `tokenizer.ggml.*`).

use crate::bpe::{Bpe, IgnoredMerges};
use crate::pre::{self, PreTokenizer};
use crate::special::Specials;
use crate::spm::{SPACE, Spm};
use crate::tokenizer::{Roles, TokenModel, Tokenizer};
use crate::vocab::{Texts, TokenKind, Vocab};
use crate::{Error, byte_chars, end_tokens};
use inkstone_gguf::Metadata;
use inkstone_gguf::Strings;

const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const SCORES: &str = "tokenizer.ggml.scores";
const MERGES: &str = "tokenizer.ggml.merges";

/// A kind of tokenizer, with the defaults for missing keys.
struct Kind {
    /// Value of `tokenizer.ggml.model`.
    name: &'static str,
    piece: fn(&str, &mut Texts),
    bos: Option<u32>,
    eos: Option<u32>,
    unknown: Option<u32>,
    add_bos: bool,
    space_prefix: bool,
}

const SPM: Kind = Kind {
    name: "llama",
    piece: spm_piece,
    bos: Some(1),
    eos: Some(2),
    unknown: Some(0),
    add_bos: true,
    space_prefix: true,
};
const BPE: Kind =
    Kind { name: "gpt2", piece: bpe_piece, bos: None, eos: None, unknown: None, add_bos: false, space_prefix: false };

impl Tokenizer {
    /// The tokenizer that the metadata describe.
    ///
    /// The kinds `llama` (the BPE of SentencePiece) and `gpt2` (byte-level BPE) are supported.
    pub fn from_metadata(metadata: &Metadata) -> Result<Tokenizer, Error> {
        let name = metadata.str("tokenizer.ggml.model")?;
        let name = name.ok_or(Error::MissingKey { key: "tokenizer.ggml.model", model: "GGUF" })?;
        let kind = [&SPM, &BPE]
            .into_iter()
            .find(|k| k.name == name)
            .ok_or_else(|| Error::UnknownModel { name: shorten(name), known: format!("{}, {}", SPM.name, BPE.name) })?;
        let mut notes = Vec::new();
        let pre = if kind.name == BPE.name { Some(pre_tokenizer(metadata, &mut notes)?) } else { None };
        let mut vocab = vocab(metadata, kind, &mut notes)?;
        let roles = roles(metadata, kind, pre.as_ref().is_some_and(|(_, row)| row.add_bos), vocab.len())?;
        let (mut end_tokens, changed) = end_tokens::find(&mut vocab);
        note(&mut notes, changed, "end tokens do not have type control; treated as control tokens");
        end_tokens.extend([roles.eos, roles.eot, roles.eom].into_iter().flatten());
        end_tokens.sort_unstable();
        end_tokens.dedup();
        let space_prefix = metadata.bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(kind.space_prefix);
        let model: Box<dyn TokenModel> = match &pre {
            Some((_, row)) => Box::new(bpe(metadata, &vocab, row, &mut notes)?),
            None => Box::new(spm(metadata, &vocab, roles.unknown, space_prefix, &mut notes)?),
        };
        let architecture = metadata.str("general.architecture").ok().flatten();
        let is_phi3 = architecture == Some("phi3") && kind.name == SPM.name;
        let specials = Specials::new(&vocab, |text| is_phi3 && phi3_strips_right(text))?;
        let pre = pre.map(|(name, _)| name);
        let space_prefix = space_prefix && kind.name == SPM.name;
        Ok(Tokenizer { vocab, model, model_name: kind.name, pre, specials, roles, space_prefix, end_tokens, notes })
    }
}

fn pre_tokenizer(metadata: &Metadata, notes: &mut Vec<String>) -> Result<(String, &'static PreTokenizer), Error> {
    let name = match metadata.str("tokenizer.ggml.pre")? {
        Some(name) => name,
        None => {
            notes.push("tokenizer.ggml.pre is missing: texts are split as with \"default\"".to_string());
            "default"
        }
    };
    let row = pre::find(name)
        .ok_or_else(|| Error::UnknownPre { name: shorten(name), known: pre::known().collect::<Vec<_>>().join(", ") })?;
    Ok((name.to_string(), row))
}

fn vocab(metadata: &Metadata, kind: &Kind, notes: &mut Vec<String>) -> Result<Vocab, Error> {
    const MAX: u32 = u32::MAX - 1;
    let tokens = metadata.strings(TOKENS)?.ok_or(Error::MissingKey { key: TOKENS, model: kind.name })?;
    let count = tokens.len();
    if u32::try_from(count).map_or(true, |count| count > MAX) {
        return Err(Error::TooMany { key: TOKENS, found: count, max: MAX });
    }
    let types = metadata.i32s(TYPES)?;
    if let Some(found) = types.as_ref().map(|t| t.len()).filter(|&found| found < count) {
        return Err(Error::ShortList { key: TYPES, found, tokens: count });
    }
    let bytes = tokens.iter().map(<[u8]>::len).sum();
    let mut texts = Texts::with_capacity(count, bytes)?;
    let mut pieces = Texts::with_capacity(count, bytes)?;
    let mut kinds = Vec::new();
    kinds.try_reserve_exact(count).map_err(Error::memory("the tokens' kinds"))?;
    let mut empty = 0;
    for (id, text) in (0..MAX).zip(tokens.iter()) {
        let text = std::str::from_utf8(text).map_err(|e| Error::TokenNotUtf8 { id, at: e.valid_up_to() })?;
        let token_kind = match types.as_ref().and_then(|t| t.get(id as usize)) {
            Some(&value) => TokenKind::from_id(value).ok_or(Error::TokenType { id, value })?,
            None => TokenKind::Normal,
        };
        empty += usize::from(text.is_empty());
        match token_kind {
            TokenKind::Byte => {
                let byte = byte_value(text).ok_or_else(|| Error::ByteToken { id, text: shorten(text) })?;
                pieces.extend(&[byte]);
            }
            TokenKind::Unused => {}
            _ => (kind.piece)(text, &mut pieces),
        }
        texts.extend(text.as_bytes());
        texts.end();
        pieces.end();
        kinds.push(token_kind);
    }
    let vocab = Vocab::new(texts, pieces, kinds)?;
    note(notes, empty, "tokens have no text; encoding never produces them");
    note(notes, vocab.duplicates(), "tokens repeat the text of an earlier token; encoding produces the first");
    Ok(vocab)
}

fn bpe(metadata: &Metadata, vocab: &Vocab, row: &PreTokenizer, notes: &mut Vec<String>) -> Result<Bpe, Error> {
    let merges = metadata.strings(MERGES)?.ok_or(Error::MissingKey { key: MERGES, model: BPE.name })?;
    check_merges(merges)?;
    let (bpe, ignored) = Bpe::new(vocab, merges, row)?;
    let IgnoredMerges { malformed, unknown, repeated } = ignored;
    note(notes, malformed, "merges have no space between two texts; ignored");
    note(notes, unknown, "merges have a part or a result that is not a token; ignored");
    note(notes, repeated, "merges are repeated; ignored");
    note(notes, bpe.missing_bytes(), "of the 256 bytes have no token; encoding omits them");
    Ok(bpe)
}

fn check_merges(merges: &Strings) -> Result<(), Error> {
    match u32::try_from(merges.len()) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::TooMany { key: MERGES, found: merges.len(), max: u32::MAX }),
    }
}

fn spm(
    metadata: &Metadata,
    vocab: &Vocab,
    unknown: Option<u32>,
    space_prefix: bool,
    notes: &mut Vec<String>,
) -> Result<Spm, Error> {
    let scores = metadata.f32s(SCORES)?.ok_or(Error::MissingKey { key: SCORES, model: SPM.name })?;
    let scores =
        scores.get(..vocab.len()).ok_or(Error::ShortList { key: SCORES, found: scores.len(), tokens: vocab.len() })?;
    if let Some((id, _)) = (0..).zip(scores).find(|(_, score)| score.is_nan()) {
        return Err(Error::NanScore { id });
    }
    let spm = Spm::new(vocab, scores, unknown, space_prefix)?;
    note(notes, spm.missing_bytes(), "of the 256 bytes have no token; encoding produces the unknown token instead");
    Ok(spm)
}

/// Reads the ids of tokens with a role, all of which must be in the vocabulary.
fn roles(metadata: &Metadata, kind: &Kind, pre_adds_bos: bool, tokens: usize) -> Result<Roles, Error> {
    const BOS: &str = "tokenizer.ggml.bos_token_id";
    const EOS: &str = "tokenizer.ggml.eos_token_id";
    const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";
    const ADD_EOS: &str = "tokenizer.ggml.add_eos_token";
    let read = |key: &'static str, default: Option<u32>| match metadata.u32(key)? {
        Some(id) if id as usize >= tokens => Err(Error::SpecialId { key, id, tokens }),
        Some(id) => Ok(Some(id)),
        None => Ok(default.filter(|&id| (id as usize) < tokens)),
    };
    let mut roles = Roles {
        bos: read(BOS, kind.bos)?,
        eos: read(EOS, kind.eos)?,
        eot: read("tokenizer.ggml.eot_token_id", None)?,
        eom: read("tokenizer.ggml.eom_token_id", None)?,
        unknown: read("tokenizer.ggml.unknown_token_id", kind.unknown)?,
        padding: read("tokenizer.ggml.padding_token_id", None)?,
        add_bos: metadata.bool(ADD_BOS)?.unwrap_or(false),
        add_eos: metadata.bool(ADD_EOS)?.unwrap_or(false),
    };
    // These ids are not used, but an invalid one shows that the file is damaged.
    for key in ["tokenizer.ggml.seperator_token_id", "tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id"] {
        read(key, None)?;
    }
    if metadata.get(ADD_BOS).is_none() {
        roles.add_bos = (kind.add_bos || pre_adds_bos) && roles.bos.is_some();
    }
    if roles.add_bos && roles.bos.is_none() {
        return Err(Error::NoSpecialId { flag: ADD_BOS, key: BOS });
    }
    if roles.add_eos && roles.eos.is_none() {
        return Err(Error::NoSpecialId { flag: ADD_EOS, key: EOS });
    }
    Ok(roles)
}

/// All special tokens of Phi-3, with three exceptions, include the spaces after them. Files do not declare this: it
/// holds for the architecture with a SentencePiece vocabulary (later models of the same architecture have a different
/// one).
fn phi3_strips_right(token: &str) -> bool {
    !["<unk>", "<s>", "<|endoftext|>"].contains(&token)
}

/// Adds the bytes of a token's text: U+2581 stands for a space.
fn spm_piece(text: &str, piece: &mut Texts) {
    for (i, part) in text.split(SPACE).enumerate() {
        if i > 0 {
            piece.extend(b" ");
        }
        piece.extend(part.as_bytes());
    }
}

/// Adds the bytes of a token's text: each character stands for a byte. A text with other characters is added unchanged.
fn bpe_piece(text: &str, piece: &mut Texts) {
    if text.bytes().all(|b| b.is_ascii_graphic()) || text.chars().any(|c| byte_chars::byte(c).is_none()) {
        return piece.extend(text.as_bytes());
    }
    for byte in text.chars().filter_map(byte_chars::byte) {
        piece.extend(&[byte]);
    }
}

/// The byte of `<0x00>` to `<0xFF>`.
fn byte_value(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_hex = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex { u8::from_str_radix(digits, 16).ok() } else { None }
}

fn note(notes: &mut Vec<String>, count: usize, what: &str) {
    if count > 0 {
        notes.push(format!("{count} {what}"));
    }
}

/// Shortens a name from a file, which may have any length, for a message.
fn shorten(name: &str) -> String {
    const CHARS: usize = 64;
    let mut short: String = name.chars().take(CHARS).collect();
    if short.len() < name.len() {
        short.push('…');
    }
    short
}
