//! Kernels in WGSL, and the texts that replace their slots.
//!
//! A *slot* is a part of a kernel between the lines `// slot: NAME` and `// end slot`. The file has a short stand-in there, so
//! that it is valid as it stands. Engines put other texts in its place: how a block of weights is unpacked (`formats/`), how a
//! place of a cache is read (`caches/`), functions that several kernels share (`shared/`).

macro_rules! texts {
    ($($name:literal,)*) => {
        /// Every file: its name (`rms_norm`, `formats/q8_0`) and its text.
        pub static TEXTS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../wgsl/", $name, ".wgsl"))),)*];
    };
}

texts! {
    "begin_step",
    "embed",
    "embed_f32",
    "linear_few",
    "linear_few_f32",
    "linear_tiled",
    "linear_tiled_f32",
    "quantize",
    "quantize_16",
    "formats/bf16",
    "formats/f16",
    "formats/f32",
    "formats/iq4_nl",
    "formats/iq4_xs",
    "formats/mxfp4",
    "formats/q2_k",
    "formats/q3_k",
    "formats/q4_0",
    "formats/q4_1",
    "formats/q4_k",
    "formats/q5_0",
    "formats/q5_1",
    "formats/q5_k",
    "formats/q6_k",
    "formats/q8_0",
    "shared/f16",
    "shared/group",
    "shared/rows",
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

    /// A kernel whose slots have the texts that `choose` names.
    fn assembled(kernel: &str, choose: impl Fn(&str) -> String) -> String {
        let (mut out, mut lines) = (String::new(), text(kernel).unwrap().lines());
        while let Some(line) = lines.next() {
            match line.strip_prefix("// slot: ").and_then(|slot| text(&choose(slot))) {
                Some(text) => {
                    out.push_str(text);
                    assert!(lines.any(|line| line == "// end slot"), "{kernel}: {line} has no end");
                }
                None => out.extend([line, "\n"]),
            }
        }
        out
    }

    fn check(name: &str, text: &str) {
        let module =
            naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(text)));
        // No device has more than WebGPU demands of all.
        let none = naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32;
        let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), none);
        validator.validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(text)));
    }

    #[test]
    fn kernels_are_valid_as_they_stand_and_with_every_format() {
        let with = |function: &str| {
            let of = |(name, text): &(&'static str, &str)| {
                (name.starts_with("formats/") && text.contains(function)).then_some(*name)
            };
            TEXTS.iter().filter_map(of).collect::<Vec<_>>()
        };
        let formats = [("// slot: block", with("fn codes_0(")), ("// slot: values", with("fn values_0("))];
        assert_eq!(formats.each_ref().map(|(_, names)| names.len()), [13, 3]);
        for (kernel, own) in TEXTS.iter().filter(|(name, _)| !name.contains('/')) {
            check(kernel, own);
            let filled = |format: &str| {
                assembled(kernel, |slot| {
                    if ["block", "values"].contains(&slot) { format.to_owned() } else { format!("shared/{slot}") }
                })
            };
            match formats.iter().find(|(slot, _)| own.lines().any(|line| line == *slot)) {
                Some((_, formats)) => {
                    formats.iter().for_each(|format| check(&format!("{kernel} of {format}"), &filled(format)))
                }
                None => check(kernel, &filled("")),
            }
        }
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
