//! Replays the corpora of the fuzz targets, and greedy templates, through the code of the targets.

use crate::common::greedy::{BOMBS, ENDLESS, MUCH, whole};
use crate::fuzzed;
use std::path::Path;

#[test]
fn what_must_hold_for_any_template_holds_for_the_corpora() {
    let mut written = 0;
    for target in ["template", "template_parse"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            written += usize::from(fuzzed::check(&bytes));
            fuzzed::check_parse(&bytes);
        }
    }
    assert!(written > 30, "{written}");
}

#[test]
fn what_must_hold_for_any_template_holds_for_greedy_ones() {
    for template in BOMBS.iter().chain(ENDLESS).chain(MUCH) {
        let source = whole(template);
        fuzzed::check(format!("{source}\0user\0Hi <there>, naïve fox.\0assistant\0Hello").as_bytes());
        // Each beginning of it is parsed, too.
        for (end, _) in template.char_indices() {
            fuzzed::check_parse(&template.as_bytes()[..end]);
        }
    }
}
