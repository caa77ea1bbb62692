//! Suggestions for misspelt paths and names.

use crate::models::Models;
use std::path::Path;

/// The largest number of files in a folder that are compared, which bounds the time of a search.
const MAX_FILES: usize = 10_000;
/// Longer names are not compared.
const MAX_NAME: usize = 255;

/// The hint for a missing model: a file in the same folder or a listed model with a similar name, else the rule for
/// arguments.
pub(crate) fn missing_model_hint(path: &Path) -> String {
    hint(path, &Models::of_machine())
}

fn hint(path: &Path, models: &Models) -> String {
    let file = || similar_file(path).map(|name| path.with_file_name(name).display().to_string());
    match file().or_else(|| similar_name(path.to_str()?, models).map(str::to_string)) {
        Some(name) => format!("did you mean {name}?"),
        None => "a model ends in .gguf, has a path separator and no space, or is the first of two arguments; \
                 `inkstone list` shows names"
            .to_string(),
    }
}

/// The first listed name that begins with this name, else the most similar one.
pub(super) fn similar_name<'m>(wanted: &str, models: &'m Models) -> Option<&'m str> {
    let wanted = wanted.strip_suffix(".gguf").unwrap_or(wanted);
    let names = || models.all().iter().map(|found| found.name.as_str()).filter(|name| name.len() <= MAX_NAME);
    let longer = names().find(|name| !wanted.is_empty() && name.starts_with(wanted));
    longer.or_else(|| closest(wanted, names()))
}

fn similar_file(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str().filter(|n| n.len() <= MAX_NAME)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = std::fs::read_dir(folder).ok()?.take(MAX_FILES).filter_map(|e| e.ok()?.file_name().into_string().ok());
    closest(wanted, names.filter(|n| n.len() <= MAX_NAME))
}

/// The name with the smallest distance, which is at most a third of the letters of the wanted name.
pub(super) fn closest<N: AsRef<str> + Ord>(wanted: &str, names: impl Iterator<Item = N>) -> Option<N> {
    let most = if wanted.len() > MAX_NAME { return None } else { wanted.chars().count() / 3 };
    let scored = names.map(|name| (distance(wanted, name.as_ref()), name));
    scored.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// The Levenshtein distance, with a swap of two letters as one change: the number of letters to change, swap, add or
/// remove.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    // The previous row with its letter.
    let mut before: Option<(char, Vec<usize>)> = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = row[j] + usize::from(x != *y);
            let swapped = before.as_ref().filter(|(w, _)| j > 0 && x == b[j - 1] && w == y);
            let swapped = swapped.map_or(usize::MAX, |(_, row)| row[j - 1] + 1);
            next.push(changed.min(swapped).min(row[j + 1] + 1).min(next[j] + 1));
        }
        before = Some((x, std::mem::replace(&mut row, next)));
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("ab", ""), 2);
        assert_eq!(distance("größe", "grösse"), 2);
        assert_eq!(distance("shwo", "show"), 1);
        assert_eq!(distance("abcd", "badc"), 2);
    }

    #[test]
    fn e06_a_misspelt_model_path_gets_a_suggestion() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("story-5m.gguf"), "").unwrap();
        std::fs::write(folder.path().join("other.bin"), "").unwrap();
        let none = Models::of(&[]);
        let found = hint(&folder.path().join("storry-5m.gguf"), &none);
        assert_eq!(found, format!("did you mean {}?", folder.path().join("story-5m.gguf").display()));
        let nothing = hint(&folder.path().join("x.gguf"), &none);
        assert!(nothing.starts_with("a model ends in .gguf, has a path separator and no space"), "{nothing}");
    }

    #[test]
    fn a_listed_name_is_suggested_if_it_goes_on_or_is_similar() {
        let models = Models::of(&[("gemma:2b", None), ("llama3.2:1b", None), ("llama3.2:3b", None), ("story", None)]);
        let cases = [
            ("llama3.2", Some("llama3.2:1b")),
            ("llama3.2:3", Some("llama3.2:3b")),
            ("lama3.2:3b", Some("llama3.2:3b")),
            ("sotry", Some("story")),
            ("gemma:2b.gguf", Some("gemma:2b")),
            ("qwen3", None),
            ("", None),
            (".gguf", None),
        ];
        for (wanted, similar) in cases {
            assert_eq!(similar_name(wanted, &models), similar, "{wanted}");
        }
        assert_eq!(hint(Path::new("no-such-folder/x"), &models), hint(Path::new("x"), &Models::of(&[])));
        assert_eq!(hint(Path::new("storyy"), &models), "did you mean story?");
    }
}
