//! docs/numerics.md names every arithmetic that there is with its tolerance, and files that are there.

use inkstone::compute::conformance::{OTHERWISE, TOLERANCES};
use inkstone::compute::{Engine, EngineOptions, Reference};
use inkstone::gguf::TensorSpec;
use inkstone::tensor::{DType, WeightSource};
use inkstone::{Accuracy, Model, ModelOptions};
use inkstone_engine_cpu::{BF16, Cpu, Q8_WHOLE, Set};
use inkstone_tests::tiny::Tiny;
use inkstone_tests::{assert_same_bits, oracle, relative_l2, with_block_sums};
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/numerics.md");

#[test]
fn the_table_has_every_numerics_with_its_tolerance() {
    let options = EngineOptions::default().budget(1 << 20).numerics(Accuracy::Fast);
    let engines: [Box<dyn Engine>; 2] =
        [Box::new(Cpu::new(&options).unwrap()), Box::new(Reference::new(&options).unwrap())];
    let kernels = engines.iter().flat_map(|engine| &engine.registry().kernels);
    // Not every machine has these.
    let elsewhere = [BF16, Q8_WHOLE, inkstone_engine_wgpu::F32, inkstone_engine_wgpu::Q8].map(|numerics| numerics.0);
    let names: BTreeSet<&str> = kernels.map(|kernel| kernel.numerics.0).chain(elsewhere).collect();
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

/// The tiny model in BF16.
fn in_bf16() -> Tiny {
    let tiny = Tiny::random();
    let gguf = tiny.gguf();
    let matrices = tiny.tensors().filter(|spec| spec.dims.len() == 2).cloned().collect::<Vec<_>>();
    matrices.into_iter().fold(tiny, |tiny, spec| {
        let singles = gguf.bytes(&spec.name).unwrap();
        let bytes = singles.as_slice().as_chunks::<4>().0.iter().flat_map(|b| [b[2], b[3]]).collect();
        tiny.encoded(TensorSpec::new(&spec.name, DType::BF16, &spec.dims), bytes)
    })
}

#[test]
fn fast_numerics_are_close_and_the_same_for_each_chunk_and_number_of_threads() {
    let options = |accuracy| ModelOptions::default().engine("cpu").numerics(accuracy);
    let ids = [1, 5, 9, 13, 20, 7, 3, 25, 11, 4, 8];
    let logits = |options: &ModelOptions, chunk| in_bf16().open_with(options).unwrap().logits(&ids, chunk).unwrap();
    let precise = logits(&options(Accuracy::Precise), None);
    let fast = logits(&options(Accuracy::Fast), None);
    let note = "numerics fast: on this machine no weight of this model has a faster one than precise";
    let notes = in_bf16().open_with(&options(Accuracy::Fast)).unwrap().notes().to_vec();
    if notes.iter().any(|n| n == note) {
        println!("not on this cpu: {}", BF16.0);
        assert_same_bits(&precise, &fast, "without instructions for it");
    } else {
        let distance = relative_l2(&fast, &precise);
        assert!(distance > 1e-5 && distance < 2e-2, "{distance}");
    }
    for chunk in [1, 2, 3, 7] {
        assert_same_bits(&fast, &logits(&options(Accuracy::Fast), Some(chunk)), "chunks");
    }
    assert_same_bits(&fast, &logits(&options(Accuracy::Fast).threads(3), None), "threads");
    assert!(!in_bf16().open_with(&options(Accuracy::Precise)).unwrap().notes().iter().any(|n| n == note));
    // There is nothing faster for F32, on any machine.
    let singles = Tiny::random().open_with(&options(Accuracy::Fast)).unwrap();
    assert!(singles.notes().iter().any(|n| n == note), "{:?}", singles.notes());
}

#[test]
fn fast_numerics_of_blocks_have_the_same_bits_for_each_chunk_and_number_of_threads() {
    let options = |accuracy| ModelOptions::default().engine("cpu").isa(with_block_sums()).numerics(accuracy);
    let model = |options: &ModelOptions| Model::open_with(oracle("story/story-5m-q4_k_m.gguf"), options).unwrap();
    let of_best = model(&ModelOptions::default().engine("cpu").numerics(Accuracy::Fast));
    let is_noted = of_best.notes().iter().any(|note| note.starts_with("numerics fast"));
    assert_eq!(is_noted, Set::ALL.into_iter().find(|set| set.is_here()).is_some_and(|best| !best.has_block_sums()));
    let ids: Vec<u32> = (0..50).map(|i| 3 + i * i % 1000).collect();
    let fast = model(&options(Accuracy::Fast));
    assert!(fast.notes().iter().all(|note| !note.starts_with("numerics fast")), "{:?}", fast.notes());
    let wanted = fast.logits(&ids, None).unwrap();
    let distance = relative_l2(&wanted, &model(&options(Accuracy::Precise)).logits(&ids, None).unwrap());
    assert!(distance > 1e-5 && distance < 5e-2, "{distance}");
    for chunk in [1, 3, 8, 17] {
        assert_same_bits(&wanted, &fast.logits(&ids, Some(chunk)).unwrap(), "chunks");
    }
    for other in [
        options(Accuracy::Fast).threads(3),
        options(Accuracy::Fast).isa("portable"),
        options(Accuracy::Fast).mmap(true),
    ] {
        assert_same_bits(&wanted, &model(&other).logits(&ids, Some(25)).unwrap(), "threads, sets and layouts");
    }
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
