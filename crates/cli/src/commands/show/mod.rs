//! `show`: the metadata and tensors of a model file.

mod check;
mod json;
mod summary;
mod text;

use super::open;
use crate::args::ShowArgs;
use crate::{Error, output};
use std::io::Write;
use std::sync::Arc;
use summary::Summary;

pub(crate) fn show(args: &ShowArgs) -> Result<(), Error> {
    let gguf = Arc::new(open::file(args.model.required()?)?);
    let summary = Summary::new(&gguf);
    let check = args.check.then(|| check::check(&gguf));
    let mut out = output::stdout();
    if args.json {
        json::write(&mut out, &summary, check.as_ref())?;
    } else {
        text::write(&mut out, &summary, check.as_ref())?;
    }
    out.flush()?;
    match check {
        Some(check) if !check.faults.is_empty() => Err(Error::Unsound {
            file: gguf.name().to_string(),
            tensors: check.faults.len(),
            all: gguf.tensors().len(),
        }),
        _ => Ok(()),
    }
}
