//! `list`: the models of this machine.

use super::table::{Line, counted, figure, lines};
use crate::args::ListArgs;
use crate::models::{Found, Models};
use crate::terminal::{note, one_line};
use crate::{Error, output};
use inkstone::arch::{self, KvFormats, ModelGraph};
use inkstone::gguf::{Gguf, OpenOptions};
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// The columns, which are all text: each size is as wide as `999 kB` can be.
const HEAD: [&str; 5] = ["name", "architecture", "   size", "file", "runs"];
const SIZE_WIDTH: usize = HEAD[2].len();

/// Files that are not language models, by a metadata key and its value.
const OTHER_KINDS: &[(&str, &str, &str)] = &[
    ("general.architecture", "clip", "an encoder of images or sound (mmproj), not a language model"),
    ("general.type", "mmproj", "an encoder of images or sound (mmproj), not a language model"),
    ("general.type", "adapter", "an adapter (LoRA), not a language model"),
    ("general.type", "imatrix", "statistics for quantising, not a language model"),
    ("general.architecture", "bert", "an embedding model, not a language model"),
    ("general.architecture", "jina-bert-v2", "an embedding model, not a language model"),
    ("general.architecture", "nomic-bert", "an embedding model, not a language model"),
    ("general.architecture", "nomic-bert-moe", "an embedding model, not a language model"),
];

pub(crate) fn list(args: &ListArgs) -> Result<(), Error> {
    let models = Models::of_machine();
    for (folder, error) in models.unreadable() {
        note(&format!("note: INKSTONE_MODELS: {}: can't be read: {error}", folder.display()));
    }
    for folder in models.cut() {
        note(&format!("note: {}: it has too many entries, the rest is not searched", folder.display()));
    }
    let listed: Vec<Listed> = models.all().iter().map(Listed::new).collect();
    let mut out = output::stdout();
    if args.json {
        serde_json::to_writer(&mut out, &listed).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    } else {
        let head = Line::Cells(HEAD.map(str::to_owned));
        let rows: Vec<_> = std::iter::once(head).chain(listed.iter().map(|l| Line::Cells(l.row()))).collect();
        lines(&rows, HEAD.len()).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    out.flush()?;
    if listed.iter().all(|l| l.path.is_none()) {
        let folders: Vec<_> = models.places().iter().map(|place| place.folder.display().to_string()).collect();
        note(&format!("note: no GGUF file in: {}; INKSTONE_MODELS=FOLDER:FOLDER .. adds folders", folders.join(", ")));
    }
    Ok(())
}

/// A model with the contents of its header.
#[derive(Serialize)]
struct Listed<'m> {
    name: &'m str,
    path: Option<String>,
    architecture: Option<String>,
    bytes: u64,
    runs: bool,
    reason: Option<String>,
    #[serde(skip)]
    place: String,
}

impl Listed<'_> {
    /// Reads the header of the file, but no weights.
    fn new(found: &Found) -> Listed<'_> {
        let file = match &found.path {
            Some(path) => Gguf::open(path, &OpenOptions::default().mmap(false)).map_err(|e| e.to_string()),
            None => inkstone::embedded_file().map_err(|e| e.to_string()),
        };
        let place = found.place();
        let (architecture, reason) = match file {
            Ok(gguf) => {
                let architecture = gguf.metadata().str("general.architecture").ok().flatten().map(str::to_string);
                (architecture, reason(found, gguf))
            }
            Err(error) => (None, Some(error)),
        };
        // Errors begin with the file, which has a column of its own.
        let reason = reason.map(|r| r.strip_prefix(&format!("{place}: ")).unwrap_or(&r).to_string());
        let path = found.path.as_ref().map(|_| place.clone());
        Listed { name: &found.name, path, architecture, bytes: found.bytes, runs: reason.is_none(), reason, place }
    }

    fn row(&self) -> [String; HEAD.len()] {
        let size = figure(self.bytes as f64, "B");
        let runs = self.reason.as_ref().map_or("yes".to_string(), |reason| format!("no: {reason}"));
        let architecture = self.architecture.as_deref().unwrap_or("-");
        [
            one_line(self.name),
            one_line(architecture),
            format!("{size:>SIZE_WIDTH$}"),
            one_line(&self.place),
            one_line(&runs),
        ]
    }
}

/// Why a file does not run.
fn reason(found: &Found, gguf: Gguf) -> Option<String> {
    let is = |key: &str, value: &str| gguf.metadata().str(key).ok().flatten() == Some(value);
    if let Some((.., kind)) = OTHER_KINDS.iter().find(|(key, value, _)| is(key, value)) {
        return Some((*kind).to_string());
    }
    if let Some(parts) = found.parts {
        let missing = (parts.all.saturating_sub(parts.present)) as u64;
        let missing = if missing > 0 { format!(", {} of them missing", missing) } else { String::new() };
        return Some(format!(
            "it is split into {}{missing}; split models are not supported yet",
            counted(parts.all as u64, "file")
        ));
    }
    match ModelGraph::open(Arc::new(gguf), KvFormats::default()).err()? {
        // `show` lists the known ones.
        arch::Error::UnknownArchitecture { name, .. } => Some(format!("architecture {name} is not supported")),
        error => Some(error.to_string()),
    }
}
