//! Blocks of pages that are made of results, between two marks.

use std::fs;
use std::path::PathBuf;

use crate::error::Error;

/// A file with its required content.
pub type Page = (PathBuf, String);

/// The page with `text` as its block of this name.
pub fn replaced(path: PathBuf, name: &str, text: &str) -> Result<Page, Error> {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let page = fs::read_to_string(&path).map_err(|source| Error::File { path: path.clone(), source })?;
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = parts else {
        return Err(Error::Faults(vec![format!("{} lacks {begin:?} and {end:?}", path.display())]));
    };
    let page = format!("{before}{begin}{text}{end}{after}");
    Ok((path, page))
}
