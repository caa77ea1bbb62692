//! Models that are split into files: `NAME-00001-of-00003.gguf`.

use super::{Found, Parts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The least number of digits of a number in a file name.
const DIGITS: usize = 5;

/// Files as models: the files of a split model are one model, with the path of the first file.
pub(super) fn grouped(files: &[PathBuf]) -> Vec<Found> {
    /// Whole files and split models by folder, name and number of files.
    type Key<'a> = (Option<&'a Path>, String, usize);
    let mut models = BTreeMap::<Key, BTreeMap<usize, &PathBuf>>::new();
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let (name, number, all) = part(&stem).unwrap_or((&stem, 1, 1));
        let parts = models.entry((file.parent(), name.to_string(), all)).or_default();
        // A folder may have both `x.gguf` and `x.GGUF`: the first counts.
        parts.entry(number).or_insert(file);
    }
    let bytes = |file: &PathBuf| std::fs::metadata(file).map_or(0, |file| file.len());
    let found = models.into_iter().filter_map(|((_, name, all), parts)| {
        Some(Found {
            name,
            path: Some((*parts.values().next()?).clone()),
            bytes: parts.values().map(|file| bytes(file)).fold(0, u64::saturating_add),
            parts: (all > 1).then_some(Parts { present: parts.len(), all }),
        })
    });
    found.collect()
}

/// The name, number and count in a file name without its extension, if it has all three.
fn part(stem: &str) -> Option<(&str, usize, usize)> {
    let (rest, all) = stem.rsplit_once("-of-")?;
    let (name, number) = rest.rsplit_once('-')?;
    let counted = |digits: &str| {
        let plain = digits.len() >= DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse::<usize>().ok() } else { None }
    };
    let (number, all) = (counted(number)?, counted(all)?);
    (!name.is_empty() && (1..=all).contains(&number)).then_some((name, number, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_a_name_and_two_numbers() {
        assert_eq!(part("m-Q4-00002-of-00003"), Some(("m-Q4", 2, 3)));
        assert_eq!(part("m-00001-of-00001"), Some(("m", 1, 1)));
        let others = [
            "m",
            "m-2-of-3",
            "m-00004-of-00003",
            "m-00000-of-00003",
            "-00001-of-00003",
            "m-0000x-of-00003",
            "m-+0001-of-00003",
            "m-99999999999999999999-of-99999999999999999999",
        ];
        for stem in others {
            assert_eq!(part(stem), None, "{stem}");
        }
    }

    #[test]
    fn the_files_of_a_split_model_are_one_model() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let names = [
            "b-00002-of-00003.gguf",
            "b-00001-of-00003.gguf",
            "b.gguf",
            "c-00002-of-00002.gguf",
            "one-00001-of-00001.gguf",
        ];
        let files: Vec<_> = names.iter().map(|name| folder.join(name)).collect();
        for (i, file) in files.iter().enumerate() {
            std::fs::write(file, vec![0; i + 1]).unwrap();
        }
        let mut found = grouped(&files);
        found.sort();
        let found: Vec<_> = found
            .iter()
            .map(|f| {
                let file = f.path.as_ref().unwrap().file_name().unwrap().to_str().unwrap();
                (f.name.as_str(), file, f.bytes, f.parts.map(|p| (p.present, p.all)))
            })
            .collect();
        assert_eq!(
            found,
            [
                ("b", "b-00001-of-00003.gguf", 3, Some((2, 3))),
                ("b", "b.gguf", 3, None),
                ("c", "c-00002-of-00002.gguf", 4, Some((1, 2))),
                ("one", "one-00001-of-00001.gguf", 5, None),
            ]
        );
    }
}
