//! Tables of pages that tests make.

use std::path::Path;

/// Set: the pages are written, not compared.
const BLESS: &str = "INKSTONE_BLESS";

/// The lines of `page` between the marks of this name are `wanted`.
///
/// # Panics
/// If they differ.
pub fn page_holds(page: &str, name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{page} lacks {begin}"));
    let (found, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{page} lacks {end}"));
    if found == wanted {
        return;
    }
    assert!(std::env::var_os(BLESS).is_some(), "the table of {page} is (write it with {BLESS}=1):\n{wanted}");
    std::fs::write(&path, format!("{before}{begin}{wanted}{end}{after}")).unwrap();
}
