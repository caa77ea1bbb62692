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
    "accept",
    "advance",
    "attend",
    "attend_merge",
    "begin_step",
    "caches/bf16",
    "caches/bf16_encode",
    "caches/f16",
    "caches/f16_encode",
    "caches/f32",
    "caches/f32_encode",
    "caches/q8_0",
    "caches/q8_0_encode",
    "columns",
    "embed",
    "embed_f32",
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
    "gather_rows",
    "history_write",
    "kv_copy",
    "kv_write",
    "layer_norm",
    "linear_few",
    "linear_few_f32",
    "linear_tiled",
    "linear_tiled_f32",
    "map",
    "quantize",
    "quantize_16",
    "rms_norm",
    "rope",
    "sample",
    "sampling/chain",
    "sampling/edits",
    "sampling/noise",
    "sampling/order",
    "shared/f16",
    "shared/group",
    "shared/math",
    "shared/places",
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

    /// The texts that engines put in the place of a slot.
    fn choices(slot: &str) -> Vec<String> {
        let with = |folder: &str, function: &str| {
            let fits = |(name, text): &&(&str, &str)| name.starts_with(folder) && text.contains(function);
            let texts: Vec<String> = TEXTS.iter().filter(fits).map(|(_, text)| (*text).to_owned()).collect();
            assert!(texts.len() > 2, "{folder}: {function}");
            texts
        };
        let shared = |slot: &str| {
            let of = |folder: &str| text(&format!("{folder}/{slot}"));
            of("shared").or_else(|| of("sampling")).unwrap_or_else(|| panic!("slot {slot}"))
        };
        match slot {
            "block" => with("formats/", "fn codes_0("),
            "floats" => with("formats/", "fn values_0("),
            "keys" => with("caches/", "fn k_at("),
            "values" => {
                with("caches/", "fn k_at(").iter().map(|text| text.replace("k_", "v_").replace("k[", "v[")).collect()
            }
            "encode" => with("caches/", "fn encode(").into_iter().map(|text| text + shared("f16")).collect(),
            // Engines write it.
            "expression" => Vec::new(),
            _ => vec![shared(slot).to_owned()],
        }
    }

    /// A kernel with choice `i` of each slot, and whether a slot has so many.
    fn assembled(kernel: &str, i: usize) -> (String, bool) {
        let (mut out, mut lines, mut more) = (String::new(), text(kernel).unwrap().lines(), false);
        while let Some(line) = lines.next() {
            let texts = line.strip_prefix("// slot: ").map(choices).unwrap_or_default();
            more |= i < texts.len();
            if texts.is_empty() {
                out.extend([line, "\n"]);
                continue;
            }
            out.push_str(&texts[i % texts.len()]);
            assert!(lines.any(|line| line == "// end slot"), "{kernel}: {line} has no end");
        }
        (out, more)
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
    fn kernels_are_valid_as_they_stand_and_with_every_text_of_their_slots() {
        for (kernel, own) in TEXTS.iter().filter(|(name, _)| !name.contains('/')) {
            check(kernel, own);
            let mut i = 0;
            while let (text, true) = assembled(kernel, i) {
                check(&format!("{kernel}, choice {i} of each slot"), &text);
                i += 1;
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
