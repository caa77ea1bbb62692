//! `logits`: writes the logits of every position of a sequence to a NumPy file.

use super::open;
use crate::args::{LogitsArgs, ModelSource};
use crate::npy::{self, Destination};
use crate::signals::Signals;
use crate::{Error, terminal};
use std::path::Path;

pub(crate) fn logits(args: &LogitsArgs, signals: &Signals) -> Result<(), Error> {
    let source = ModelSource::named(args.model.required()?)?;
    if matches!(&source, ModelSource::File(model) if same_file(model, &args.out)) {
        return Err(Error::Usage(format!("--out {:?} is the model itself, allowed: another file", args.out)));
    }
    let model = open::model(&source, open::options(&args.engine), signals)?;
    // A path that can't be written is reported before the work instead of after it.
    Destination::probe(&args.out)?;
    let ids = &args.ids.0;
    let values = model.logits(ids, args.chunk)?;
    let _watch = signals.watch();
    npy::write(&args.out, ids.len(), &values, &|| signals.interrupted())?;
    let (rows, cols) = (ids.len(), values.len() / ids.len().max(1));
    terminal::note(&format!("{}: f32 [{rows}, {cols}]", args.out.display()));
    Ok(())
}

/// Whether two paths lead to one file, by links of either kind.
#[cfg(all(unix, not(inkstone_portable)))]
fn same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// Whether two paths lead to one file, by symbolic links.
#[cfg(any(not(unix), inkstone_portable))]
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
