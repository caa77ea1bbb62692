//! Kernels in WGSL, and the texts that replace their slots.
//!
//! A *slot* is a part of a kernel between the lines `// slot: NAME` and `// end slot`. The file has a short stand-in there, so
//! that it is valid as it stands. Engines put other texts in its place: how a block of weights is unpacked (`formats/`), how a
//! place of a cache is read (`caches/`), functions that several kernels share (`shared/`), parts of a long kernel
//! (`sampling/`), how values are normalised (`values/`), how products read activations (`activations/`).
//!
//! A *variant* is a folder of files that replace those with the same names in `shared/`, for devices with a feature, and compute
//! the same bits: `subgroup/` for devices with subgroups.

macro_rules! texts {
    ($($name:literal,)*) => {
        /// Every file: its name (`rms_norm`, `formats/q8_0`) and its text.
        pub static TEXTS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../wgsl/", $name, ".wgsl"))),)*];
    };
}

texts! {
    "accept",
    "activations/blocks",
    "activations/encoded",
    "activations/floats",
    "activations/normed",
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
    "linear_few",
    "linear_tiled",
    "linear_tiled_f32",
    "map",
    "norm",
    "norm_quantize",
    "quantize",
    "rope",
    "rope_write",
    "sample",
    "sampling/chain",
    "sampling/edits",
    "sampling/noise",
    "sampling/order",
    "shared/encode",
    "shared/encoded",
    "shared/f16",
    "shared/group",
    "shared/largest",
    "shared/math",
    "shared/places",
    "shared/product_blocks",
    "shared/product_floats",
    "shared/put16",
    "shared/rows",
    "shared/total",
    "shared/turn",
    "shared/window",
    "subgroup/largest",
    "subgroup/total",
    "values/given",
    "values/layer_norm",
    "values/rms_norm",
}

/// The text with this name.
pub fn text(name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The text of a kernel in a variant: texts of `shared/` that have another one in the folder `variant` are replaced.
///
/// ```
/// let norm = inkstone_shaders::wgsl::text("shared/total").unwrap();
/// assert!(inkstone_shaders::wgsl::in_variant(norm, "subgroup").contains("subgroupShuffleXor"));
/// ```
pub fn in_variant(kernel: &str, variant: &str) -> String {
    let own = TEXTS.iter().filter_map(|(name, own)| Some((name.strip_prefix(variant)?.strip_prefix('/')?, own)));
    own.fold(kernel.to_owned(), |kernel, (name, own)| match text(&format!("shared/{name}")) {
        Some(shared) => kernel.replace(shared, own),
        None => kernel,
    })
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

    /// The texts of one kind in a folder.
    fn with(folder: &str, function: &str) -> Vec<String> {
        let fits = |(name, text): &&(&str, &str)| name.starts_with(folder) && text.contains(function);
        let texts: Vec<String> = TEXTS.iter().filter(fits).map(|(_, text)| (*text).to_owned()).collect();
        assert!(texts.len() > 2, "{folder}: {function}");
        texts
    }

    /// Files one after the other.
    fn files(names: &[&str]) -> String {
        names.iter().map(|name| text(name).unwrap_or_else(|| panic!("file {name}"))).collect()
    }

    /// The texts that engines put in the place of a slot, for weights of blocks or of floats.
    fn choices(slot: &str, blocks: bool) -> Vec<String> {
        let all = |texts: Vec<String>, more: &str| texts.into_iter().map(|text| text + more).collect::<Vec<_>>();
        let normed = || {
            let norm = |name| files(&[name, "shared/total"]);
            vec![files(&["values/given"]), norm("values/rms_norm"), norm("values/layer_norm")]
        };
        let matrix = |i: &str| {
            let (product, function) = match blocks {
                true => ("shared/product_blocks", "fn codes_0("),
                false => ("shared/product_floats", "fn values_0("),
            };
            let texts = all(with("formats/", function), &files(&[product]));
            texts.iter().map(|text| text.replace("_0", &format!("_{i}")).replace("w0[", &format!("w{i}["))).collect()
        };
        match slot {
            "block" => with("formats/", "fn codes_0("),
            "floats" => with("formats/", "fn values_0("),
            "matrix_0" | "matrix_1" | "matrix_2" => matrix(&slot["matrix_".len()..]),
            "activations" if blocks => {
                let made = ["shared/group", "shared/encoded", "activations/encoded"];
                let given = files(&["shared/group", "activations/blocks"]);
                [given].into_iter().chain(all(normed(), &files(&made))).collect()
            }
            "activations" => {
                let given = files(&["activations/floats"]);
                [given].into_iter().chain(all(normed(), &files(&["activations/normed"]))).collect()
            }
            "normed" => normed(),
            "keys" => with("caches/", "fn k_at("),
            "values" => {
                with("caches/", "fn k_at(").iter().map(|text| text.replace("k_", "v_").replace("k[", "v[")).collect()
            }
            "encode_0" => all(with("caches/", "fn encode_0("), &files(&["shared/put16"])),
            "encode_1" => {
                let texts = all(with("caches/", "fn encode_0("), &files(&["shared/put16"]));
                texts.iter().map(|text| text.replace("_0", "_1").replace("k[", "v[")).collect()
            }
            // Engines write it.
            "result" => vec!["fn result(y: vec2<f32>, at: u32) -> f32 { return silu(y.x) * gelu(y.y); }\n".to_owned()],
            _ => {
                let of = |folder: &str| text(&format!("{folder}/{slot}"));
                let shared = of("shared").or_else(|| of("sampling")).unwrap_or_else(|| panic!("slot {slot}"));
                vec![shared.to_owned()]
            }
        }
    }

    /// A kernel with choice `i` of each slot, and whether a slot has so many.
    fn assembled(kernel: &str, i: usize, blocks: bool) -> (String, bool) {
        let (mut out, mut lines, mut more) = (String::new(), text(kernel).unwrap().lines(), false);
        while let Some(line) = lines.next() {
            let Some(slot) = line.strip_prefix("// slot: ") else {
                out.extend([line, "\n"]);
                continue;
            };
            let texts = choices(slot, blocks);
            more |= i < texts.len();
            out.push_str(&texts[i % texts.len()]);
            assert!(lines.any(|line| line == "// end slot"), "{kernel}: {line} has no end");
        }
        (out, more)
    }

    /// The features that a variant may use: for `core`, no more than WebGPU demands of all devices.
    fn capabilities(variant: &str) -> naga::valid::Capabilities {
        let core = naga::valid::Capabilities::SHADER_FLOAT16_IN_FLOAT32;
        if variant == "subgroup" { core | naga::valid::Capabilities::SUBGROUP } else { core }
    }

    fn check(name: &str, text: &str, variant: &str) {
        let module =
            naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(text)));
        let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities(variant));
        validator.subgroup_stages(naga::valid::ShaderStages::COMPUTE);
        validator.subgroup_operations(naga::valid::SubgroupOperationSet::all());
        validator.validate(&module).unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string(text)));
    }

    #[test]
    fn kernels_are_valid_as_they_stand_and_with_every_text_of_their_slots() {
        let mut replaced = 0;
        for (kernel, own) in TEXTS.iter().filter(|(name, _)| !name.contains('/')) {
            check(kernel, own, "core");
            for blocks in [true, false] {
                let mut i = 0;
                while let (text, true) = assembled(kernel, i, blocks) {
                    for variant in ["core", "subgroup"] {
                        let name = format!("{kernel} ({variant}), choice {i} of each slot, blocks: {blocks}");
                        let own = in_variant(&text, variant);
                        replaced += usize::from(own != text);
                        check(&name, &own, variant);
                    }
                    i += 1;
                }
            }
        }
        assert!(replaced > 5, "{replaced} texts differ between variants");
    }

    #[test]
    fn files_of_variants_replace_others() {
        for name in TEXTS.iter().filter_map(|(name, _)| name.strip_prefix("subgroup/")) {
            let shared = text(&format!("shared/{name}")).unwrap_or_else(|| panic!("shared/{name}"));
            assert_eq!(in_variant(shared, "subgroup"), text(&format!("subgroup/{name}")).unwrap());
            assert_eq!(in_variant(shared, "core"), shared);
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
