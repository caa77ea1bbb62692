//! docs/numerics.md names every arithmetic that there is with its tolerance, and files that are there.

use inkstone::compute::conformance::{OTHERWISE, TOLERANCES};
use inkstone::compute::{Engine, EngineOptions, Reference};
use inkstone_engine_cpu::Cpu;
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = include_str!("../../docs/numerics.md");

#[test]
fn the_table_has_every_numerics_with_its_tolerance() {
    let options = EngineOptions::default().budget(1 << 20);
    let engines: [Box<dyn Engine>; 2] =
        [Box::new(Cpu::new(&options).unwrap()), Box::new(Reference::new(&options).unwrap())];
    let kernels = engines.iter().flat_map(|engine| &engine.registry().kernels);
    let names: BTreeSet<&str> = kernels.map(|kernel| kernel.numerics.0).collect();
    let tolerance = |name: &str| {
        let found = TOLERANCES.iter().find(|(beginning, _)| name.starts_with(beginning));
        found.map_or(OTHERWISE, |(_, tolerance)| *tolerance)
    };
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows: BTreeSet<&str> = rows
        .map(|(name, rest)| {
            let found = rest.split(' ').next().unwrap();
            assert_eq!(found, shown(tolerance(name)), "tolerance of {name}");
            name
        })
        .collect();
    assert_eq!(rows, names);
}

fn shown(tolerance: f64) -> String {
    if tolerance == 0.0 { "0".to_owned() } else { format!("{tolerance:e}") }
}

#[test]
fn files_that_the_page_names_are_there() {
    let files: BTreeSet<&str> = PAGE.split('`').skip(1).step_by(2).filter(|span| span.contains(".rs")).collect();
    assert!(files.len() > 5, "{files:?}");
    for file in files {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file).is_file(), "{file}");
    }
}
