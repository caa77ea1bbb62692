//! Kernels in WGSL, and the texts that replace their slots.
//!
//! A *slot* is a part of a kernel between the lines `// slot: NAME` and `// end slot`. The file has a short stand-in there, so
//! that it is valid as it stands. Engines put other texts in its place: how a block of weights is unpacked (`formats/`), how a
//! place of a cache is read (`caches/`), functions that several kernels share (`shared/`), parts of a long kernel
//! (`sampling/`).

macro_rules! texts {
    ($($name:literal,)*) => {
        /// Every file: its name (`rms_norm`, `formats/q8_0`) and its text.
        pub static TEXTS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../wgsl/", $name, ".wgsl"))),)*];
    };
}

texts! {
    "begin_step",
    "sample",
    "sampling/chain",
    "sampling/edits",
    "sampling/noise",
    "sampling/order",
    "shared/math",
}

/// The text with this name.
pub fn text(name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The names of the files in a folder, below `prefix`.
    fn names(folder: &Path, prefix: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        entries
            .flat_map(|path| match path.is_dir() {
                true => names(&path, &format!("{prefix}{}/", name(&path))),
                false => vec![format!("{prefix}{}", name(&path))],
            })
            .collect()
    }

    #[test]
    fn the_table_has_every_file() {
        let mut found = names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("wgsl"), "");
        found.sort();
        let mut known: Vec<&str> = TEXTS.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
