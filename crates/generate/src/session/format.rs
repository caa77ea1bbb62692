//! The bytes of a session file. All numbers are little-endian; a text is its length (u32) and its UTF-8.
//!
//! | bytes | field |
//! | --- | --- |
//! | 8 | "INKSTATE" |
//! | 4 | version: 1 |
//! | texts | engine, format of keys, format of values |
//! | 3 x 8 | hashes of the states, of the model, of the arithmetic |
//! | 8, then 4 each | the number of tokens, the tokens |
//! | 8, then 1 each | the number of the caller's bytes, these bytes |
//! | 8 | the number of tokens with rows |
//! | 2 x 8 for each layer group with a window | the end of the first positions with rows, the beginning of the last ones |
//! | as many as these tokens have | rows of keys and values, in the order that `rows.rs` describes |
//! | 8 | checksum of all bytes before it |

use super::SessionError;
use super::checksum::checksum;
use super::fingerprint::Fingerprint;
use super::rows::{Paged, Stored};
use crate::memory::reserve;
use crate::{Error, Result};
use inkstone_tensor::step::GROUPS;

const MAGIC: [u8; 8] = *b"INKSTATE";
const VERSION: u32 = 1;
/// The names of the hashes.
const STATES: &str = "hash of the states";
const MODEL: &str = "hash of the model";
const NUMERICS: &str = "hash of the arithmetic";
const POSITIONS: &str = "positions with rows of a window";
/// Bytes of a checksum.
const SUM: usize = 8;

/// The largest number of the caller's bytes in a session file.
pub const MAX_EXTRA: usize = 1 << 24;

/// The contents of a session file.
pub(super) struct Contents<'b> {
    pub ids: Vec<u32>,
    pub extra: &'b [u8],
    /// The number of tokens with rows.
    pub tokens: usize,
    /// The positions with rows of each layer group.
    pub stored: Vec<Stored>,
    pub rows: &'b [u8],
}

/// Bytes that begin a file: all fields before the rows.
pub(super) fn begin(model: &Fingerprint, ids: &[u32], extra: &[u8], tokens: usize) -> Vec<u8> {
    let Fingerprint { engine, keys, values, states, model, numerics } = model;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    for text in [engine, keys, values] {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    [*states, *model, *numerics, ids.len() as u64].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    ids.iter().for_each(|id| bytes.extend(id.to_le_bytes()));
    bytes.extend((extra.len() as u64).to_le_bytes());
    bytes.extend(extra);
    bytes.extend((tokens as u64).to_le_bytes());
    bytes
}

/// Appends the positions that layer groups with windows have; the first group has all.
pub(super) fn ranges(bytes: &mut Vec<u8>, stored: &[Stored]) {
    for number in stored.iter().skip(1).flat_map(|[first, last]| [first.end, last.start]) {
        bytes.extend((number as u64).to_le_bytes());
    }
}

/// Appends room for rows, and for the checksum behind them. Returns the place of the rows.
pub(super) fn reserve_rows(bytes: &mut Vec<u8>, rows: usize) -> Result<usize> {
    let start = bytes.len();
    reserve(bytes, rows.saturating_add(SUM), "the rows of a session")?;
    bytes.resize(start + rows, 0);
    Ok(start)
}

/// Ends a file with its checksum.
pub(super) fn end(bytes: &mut Vec<u8>) {
    let sum = checksum(bytes);
    bytes.extend(sum.to_le_bytes());
}

/// The most bytes of a file for this model, with texts of `context` tokens, which have rows of `token_bytes` each.
pub(super) fn most_bytes(model: &Fingerprint, context: usize, token_bytes: usize) -> u64 {
    let rest = begin(model, &[], &[], 0).len() + MAX_EXTRA + GROUPS * 2 * size_of::<u64>() + SUM;
    let token = (token_bytes as u64).saturating_add(4);
    token.saturating_mul(context as u64).saturating_add(rest as u64)
}

/// Reads the bytes of the file `name`: the checksum first, so that no other field of a damaged file is used.
///
/// # Errors
/// [`SessionError::Unusable`] with the first field that differs, or [`Error::NoMemory`].
pub(super) fn parse<'b>(
    name: &str,
    bytes: &'b [u8],
    model: &Fingerprint,
    paged: &Paged,
    groups: usize,
) -> Result<Contents<'b>> {
    let mut file = Reader { name, rest: bytes };
    let Some((all, sum)) = bytes.split_last_chunk::<SUM>() else {
        return file.differs("length", format!("{} bytes", bytes.len()), format!("at least {SUM}"));
    };
    let (found, expected) = (u64::from_le_bytes(*sum), checksum(all));
    if found != expected {
        let expected = format!("{expected:016x}; the file is cut short or changed, or it is no session file");
        return file.differs("checksum", format!("{found:016x}"), expected);
    }
    file.rest = all;
    let magic = file.bytes("first field", MAGIC.len() as u64)?;
    file.same("first field", format!("\"{}\"", magic.escape_ascii()), format!("\"{}\"", MAGIC.escape_ascii()))?;
    let version = u32::from_le_bytes(file.array("version")?);
    file.same("version", version, VERSION)?;
    let engine = file.text("engine")?;
    let formats = [file.text("format of keys")?, file.text("format of values")?];
    let [states, of_model, numerics] = [STATES, MODEL, NUMERICS].map(|field| file.number(field));
    file.same("engine", &engine, &model.engine)?;
    file.same_hash(MODEL, of_model?, model.model, "the file is of another model or window")?;
    file.same("format of keys and values", formats.join(" and "), [&*model.keys, &model.values].join(" and "))?;
    file.same_hash(STATES, states?, model.states, "the caches are laid out in another way")?;
    file.same_hash(NUMERICS, numerics?, model.numerics, "the rows were computed with another accuracy")?;
    let words = file.list("number of tokens", 4)?.as_chunks::<4>().0;
    let mut ids = Vec::new();
    reserve(&mut ids, words.len(), "the tokens of a session")?;
    ids.extend(words.iter().map(|word| u32::from_le_bytes(*word)));
    let extra = file.list("number of the caller's bytes", 1)?;
    if extra.len() > MAX_EXTRA {
        return file.differs("number of the caller's bytes", extra.len().to_string(), format!("at most {MAX_EXTRA}"));
    }
    let tokens = file.number("number of tokens with rows")?;
    let tokens = match usize::try_from(tokens) {
        Ok(tokens) if tokens <= ids.len() => tokens,
        _ => {
            let most = format!("at most {}, the number of tokens", ids.len());
            return file.differs("number of tokens with rows", tokens.to_string(), most);
        }
    };
    let mut stored = vec![[0..0, 0..tokens]];
    for _ in 1..groups {
        let [first, last] = [file.number(POSITIONS)?, file.number(POSITIONS)?];
        if first > last || last > tokens as u64 {
            let expected = format!("ascending, at most {tokens}");
            return file.differs(POSITIONS, format!("0..{first} and {last}..{tokens}"), expected);
        }
        stored.push([0..first as usize, last as usize..tokens]);
    }
    let wanted = paged.bytes(&stored);
    if wanted != file.rest.len() {
        let expected = format!("{wanted} for {tokens} tokens");
        return file.differs("number of bytes of the rows", file.rest.len().to_string(), expected);
    }
    Ok(Contents { ids, extra, tokens, stored, rows: file.rest })
}

/// The bytes that have not been read.
struct Reader<'n, 'b> {
    name: &'n str,
    rest: &'b [u8],
}

impl<'b> Reader<'_, 'b> {
    fn differs<T>(&self, field: &'static str, found: String, expected: String) -> Result<T> {
        let file = self.name.to_owned();
        Err(Error::Session(SessionError::Unusable { file, field, found, expected }))
    }

    /// Compares a field with that of the model. A text of the file is shortened for the message.
    fn same<T: PartialEq + ToString>(&self, field: &'static str, found: T, expected: T) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        self.differs(field, found.to_string().chars().take(80).collect(), expected.to_string())
    }

    /// Compares a hash with that of the model. `why`: what a difference means.
    fn same_hash(&self, field: &'static str, found: u64, expected: u64, why: &str) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        self.differs(field, format!("{found:016x}"), format!("{expected:016x}; {why}"))
    }

    /// The next bytes, which are a part of a field.
    fn bytes(&mut self, field: &'static str, len: u64) -> Result<&'b [u8]> {
        let split = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let Some((bytes, rest)) = split else {
            return self.differs(field, format!("{len} bytes"), format!("at most {}, which are left", self.rest.len()));
        };
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(field, N as u64)?);
        Ok(array)
    }

    /// A text, of which bytes that are not UTF-8 are replaced.
    fn text(&mut self, field: &'static str) -> Result<String> {
        let len = u32::from_le_bytes(self.array(field)?);
        Ok(String::from_utf8_lossy(self.bytes(field, len.into())?).into_owned())
    }

    fn number(&mut self, field: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// A list: the number of its values of so many bytes, then the values.
    fn list(&mut self, field: &'static str, bytes: u64) -> Result<&'b [u8]> {
        let count = self.number(field)?;
        let most = self.rest.len() as u64 / bytes;
        if count > most {
            return self.differs(field, count.to_string(), format!("at most {most}, for which there are bytes"));
        }
        self.bytes(field, count * bytes)
    }
}
