//! The layers: which crate may use which, and which module of a crate may not name another.

use std::path::Path;

use crate::error::Error;
use crate::workspace::Workspace;

/// A crate and the crates of the workspace that it may use. Any other dependency is a fault, even if only tests need
/// it, so that each crate can be built and tested with only the layers below it.
struct Layer {
    package: &'static str,
    may_use: &'static [&'static str],
}

const TENSOR: &str = "inkstone-tensor";
const GGUF: &str = "inkstone-gguf";
const COMPUTE: &str = "inkstone-compute";
const ENGINE_CPU: &str = "inkstone-engine-cpu";
const SHADERS: &str = "inkstone-shaders";
const ENGINE_WGPU: &str = "inkstone-engine-wgpu";
const GRAPH: &str = "inkstone-graph";
const KVCACHE: &str = "inkstone-kvcache";
const MODEL: &str = "inkstone-model";
const TEMPLATE: &str = "inkstone-template";
const TEXT: &str = "inkstone-text";
const GENERATE: &str = "inkstone-generate";
const FACADE: &str = "inkstone";
const CLI: &str = "inkstone-cli";

/// From the bottom to the top.
const LAYERS: &[Layer] = &[
    Layer { package: TENSOR, may_use: &[] },
    Layer { package: GGUF, may_use: &[TENSOR] },
    Layer { package: COMPUTE, may_use: &[TENSOR] },
    Layer { package: ENGINE_CPU, may_use: &[COMPUTE, TENSOR] },
    Layer { package: SHADERS, may_use: &[] },
    Layer { package: ENGINE_WGPU, may_use: &[COMPUTE, TENSOR, SHADERS] },
    Layer { package: GRAPH, may_use: &[COMPUTE, TENSOR] },
    Layer { package: KVCACHE, may_use: &[COMPUTE, TENSOR] },
    Layer { package: MODEL, may_use: &[GRAPH, GGUF, TENSOR] },
    Layer { package: TEMPLATE, may_use: &[] },
    Layer { package: TEXT, may_use: &[GGUF, TEMPLATE] },
    Layer { package: GENERATE, may_use: &[TENSOR, GGUF, COMPUTE, GRAPH, KVCACHE, MODEL, TEXT] },
    Layer {
        package: FACADE,
        may_use: &[TENSOR, GGUF, COMPUTE, GRAPH, KVCACHE, MODEL, TEXT, GENERATE, ENGINE_CPU, ENGINE_WGPU],
    },
    Layer { package: CLI, may_use: &[FACADE] },
    // Checks across crates may look at everything.
    Layer {
        package: "inkstone-tests",
        may_use: &[
            TENSOR,
            GGUF,
            COMPUTE,
            GRAPH,
            KVCACHE,
            MODEL,
            TEMPLATE,
            TEXT,
            GENERATE,
            FACADE,
            CLI,
            ENGINE_CPU,
            ENGINE_WGPU,
        ],
    },
    // The crates that an external program would use.
    Layer { package: "custom_op", may_use: &[FACADE, ENGINE_CPU] },
    Layer { package: "custom_engine", may_use: &[FACADE] },
    Layer { package: "library", may_use: &[FACADE] },
    Layer { package: "web_service", may_use: &[FACADE] },
    // It writes model files.
    Layer { package: "xtask", may_use: &[TENSOR, GGUF] },
];

/// A file and a module of its crate that it may not name: contracts of kernels know no kernel.
const CLOSED: &[(&str, &str)] = &[
    ("crates/engine-cpu/src/phase.rs", "kernels"),
    ("crates/engine-cpu/src/scratch.rs", "kernels"),
    ("crates/engine-cpu/src/tile.rs", "kernels"),
];

/// Every edge of the workspace, and the files with a contract, against the tables.
pub fn check(workspace: &Workspace) -> Result<(), Error> {
    edges(workspace)?;
    let mut faults = Vec::new();
    for (file, module) in CLOSED {
        let path = workspace.root().join(Path::new(file));
        let text = std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
        faults.extend(named(file, module, &text));
    }
    Error::from_faults(faults)
}

/// A fault for each line of a closed file that names its module.
fn named<'t>(file: &'t str, module: &'t str, text: &'t str) -> impl Iterator<Item = String> + 't {
    names(text, module).map(move |line| format!("{file}:{line} names {module}; it may not use it"))
}

/// The numbers of the lines that name a module outside comments.
fn names<'t>(text: &'t str, module: &'t str) -> impl Iterator<Item = usize> + 't {
    let named = move |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == module)
    };
    text.lines().enumerate().filter(move |(_, line)| named(line)).map(|(i, _)| i + 1)
}

fn edges(workspace: &Workspace) -> Result<(), Error> {
    let members: Vec<&str> = workspace.packages().iter().map(|p| p.name.as_str()).collect();
    let mut faults = Vec::new();
    for package in workspace.packages() {
        let Some(layer) = LAYERS.iter().find(|l| l.package == package.name) else {
            faults.push(format!("{} has no row in the table of layers (xtask/src/layers.rs)", package.name));
            continue;
        };
        for used in package.dependencies() {
            if members.contains(&used) && !layer.may_use.contains(&used) {
                faults.push(format!("{} uses {used}; it may use {}", package.name, list(layer.may_use)));
            }
        }
    }
    for layer in LAYERS.iter().filter(|l| !members.contains(&l.package)) {
        faults.push(format!("{} is in the table of layers but not in the workspace", layer.package));
    }
    Error::from_faults(faults)
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no crate of the workspace".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The workspace of the table, each crate with all edges that it may have, and `extra` edges.
    fn workspace(extra: &[(&str, &str)]) -> Workspace {
        let packages: Vec<_> = LAYERS
            .iter()
            .map(|layer| {
                let used = extra.iter().filter(|e| e.0 == layer.package).map(|e| e.1);
                let dependencies: Vec<_> =
                    layer.may_use.iter().copied().chain(used).map(|n| serde_json::json!({ "name": n })).collect();
                serde_json::json!({
                    "name": layer.package,
                    "version": "0.1.0",
                    "manifest_path": "Cargo.toml",
                    "dependencies": dependencies,
                    "targets": [],
                })
            })
            .collect();
        let json = serde_json::json!({ "packages": packages, "workspace_root": ".", "target_directory": "target" });
        Workspace::parse(json.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn allowed_edges_and_crates_from_outside_pass() {
        edges(&workspace(&[(TENSOR, "half")])).unwrap();
    }

    #[test]
    fn a_forbidden_edge_fails_and_is_named() {
        let error = edges(&workspace(&[(TEXT, TENSOR)])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "inkstone-text uses inkstone-tensor; it may use inkstone-gguf, inkstone-template"
        );
    }

    #[test]
    fn every_fault_is_reported() {
        let error = edges(&workspace(&[(TENSOR, GGUF), (CLI, GENERATE)])).unwrap_err();
        assert_eq!(error.to_string().lines().count(), 2, "{error}");
    }

    #[test]
    fn the_table_has_no_edge_upwards() {
        for (i, layer) in LAYERS.iter().enumerate() {
            for used in layer.may_use {
                assert!(LAYERS[..i].iter().any(|l| l.package == *used), "{} uses {used}", layer.package);
            }
        }
    }

    #[test]
    fn a_member_without_a_row_fails() {
        let json = serde_json::json!({
            "packages": [{ "name": "new", "version": "0.1.0", "manifest_path": "Cargo.toml", "dependencies": [], "targets": [] }],
            "workspace_root": ".",
            "target_directory": "target",
        });
        let error = edges(&Workspace::parse(json.to_string().as_bytes()).unwrap()).unwrap_err();
        assert!(error.to_string().contains("new has no row"), "{error}");
    }

    #[test]
    fn an_import_of_a_closed_module_is_found_in_every_form() {
        let lines = |text| names(text, "kernels").collect::<Vec<_>>();
        for import in
            ["use crate::kernels::Buffers;", "use crate::{\n    kernels,\n    memory,\n};", "use super::kernels;"]
        {
            assert_eq!(lines(import).len(), 1, "{import}");
        }
        assert_eq!(lines("mod a;\nlet x = crate::kernels::FEW;"), [2]);
        let other = "//! How kernels are written.\nuse crate::memory::View; // kernels\nlet my_kernels = 1;";
        assert!(lines(other).is_empty());
    }

    #[test]
    fn an_import_that_is_planted_in_a_closed_file_is_found() {
        let workspace = Workspace::load().unwrap();
        for (file, module) in CLOSED {
            let text = std::fs::read_to_string(workspace.root().join(file)).unwrap();
            let planted = format!("use crate::{module}::Buffers;\n{text}");
            let faults: Vec<String> = named(file, module, &planted).collect();
            assert_eq!(faults, [format!("{file}:1 names {module}; it may not use it")]);
        }
    }

    #[test]
    fn this_workspace_keeps_its_layers() {
        check(&Workspace::load().unwrap()).unwrap();
    }
}
