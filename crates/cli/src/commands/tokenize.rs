//! `tokenize`: the tokens of a text.

use super::open;
use crate::args::{ModelSource, PromptSource, TokenizeArgs};
use crate::input::{self, Input};
use crate::{Error, output, terminal};
use inkstone::text::{Encode, Tokenizer};
use std::io::Write;
use std::path::Path;

pub(crate) fn tokenize(args: &TokenizeArgs) -> Result<(), Error> {
    let (model, text) = args.input.sources()?;
    let text_error = |name: &str| {
        let name = name.to_string();
        |source| Error::Text { name, source }
    };
    let gguf = match model {
        ModelSource::Embedded => inkstone::embedded_file()?,
        ModelSource::File(path) => open::file(&path)?,
    };
    let file = gguf.name().to_string();
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).map_err(text_error(&file))?;
    drop(gguf);
    tokenizer.notes().iter().for_each(|note| terminal::note(&format!("note: {note}")));
    let (name, text) = match text {
        PromptSource::Argument(text) => ("the text", input::argument("the text", &text)?.to_string()),
        PromptSource::File(path) if path != Path::new("-") => {
            ("the file", Input::open(&path)?.read(args.max_bytes, "--max-bytes")?)
        }
        PromptSource::File(_) | PromptSource::Stdin => {
            ("standard input", Input::stdin().read(args.max_bytes, "--max-bytes")?)
        }
    };
    let bos = if args.no_bos { Some(false) } else { None };
    let options = Encode::new().bos(bos).special(args.special).max_bytes(args.max_bytes);
    let ids = tokenizer.encode(&text, &options).map_err(text_error(name))?;
    let mut out = output::stdout();
    if args.ids {
        write_ids(&mut out, &ids)?;
    } else {
        write_tokens(&mut out, &ids, &tokenizer)?;
    }
    Ok(out.flush()?)
}

/// Writes `[1, 2, 3]`, which is JSON and can be passed to `logits --ids`.
pub(super) fn write_ids(out: &mut impl Write, ids: &[u32]) -> std::io::Result<()> {
    let mut separator = "[";
    for id in ids {
        write!(out, "{separator}{id}")?;
        separator = ", ";
    }
    writeln!(out, "{}", if ids.is_empty() { "[]" } else { "]" })
}

/// Writes one line per token: its id, and its text in quotes, with invalid UTF-8 as `\xFF`.
fn write_tokens(out: &mut impl Write, ids: &[u32], tokenizer: &Tokenizer) -> std::io::Result<()> {
    for &id in ids {
        let piece = tokenizer.piece_or_text(id).unwrap_or_default();
        write!(out, "{id:>7}  \"")?;
        for chunk in piece.utf8_chunks() {
            write!(out, "{}", chunk.valid().escape_debug())?;
            chunk.invalid().iter().try_for_each(|byte| write!(out, "\\x{byte:02X}"))?;
        }
        writeln!(out, "\"")?;
    }
    Ok(())
}
