//! Every kernel on every instruction set of this machine against the definitions, and kernels of one numerics against each
//! other.

use inkstone_compute::{Accuracy, Engine, EngineOptions, Kernel, Pattern, conformance};
use inkstone_engine_cpu::{Cpu, Entry, F32, Set, Tile};
use inkstone_tensor::Op;
use inkstone_tensor::step::StepError;
use std::sync::Arc;

fn options(threads: usize) -> EngineOptions {
    EngineOptions::default().budget(1 << 28).threads(threads)
}

fn conforms(engine: &Cpu) -> conformance::Report {
    let report = conformance::run(engine);
    assert!(report.passed(), "{report}");
    assert_eq!(report.skipped().count(), 0, "{report}");
    report
}

#[test]
fn kernels_of_all_sets_and_layouts_conform_with_equal_bits() {
    let report = conforms(&Cpu::new(&options(3)).unwrap());
    for set in Set::ALL {
        let kernels = ["linear.q8.SET in panel16", "linear.q8.SET in file", "rope.SET"];
        for kernel in kernels.into_iter().chain(["linear.f32.SET in lines4", "linear.f32.SET in file"]) {
            let kernel = kernel.replace("SET", set.name());
            let ran = report.results.iter().any(|r| r.kernels == kernel && r.outcome == conformance::Outcome::Passed);
            assert_eq!(ran, set.is_here(), "{kernel}");
        }
        if !set.is_here() {
            println!("not on this cpu: {}", set.name());
        }
    }
}

#[test]
fn sets_that_are_not_the_first_choice_conform_alone() {
    for set in Set::ALL.into_iter().filter(|s| s.is_here()).skip(1) {
        let _ = conforms(&Cpu::new(&options(1).isa(set.name())).unwrap());
    }
}

#[test]
fn fast_products_are_there_when_asked_for_and_conform() {
    let fast = options(2).numerics(Accuracy::Fast);
    let has = |options: &EngineOptions, end: &str| {
        let engine = Cpu::new(options).unwrap();
        engine.registry().kernels.iter().any(|k| k.fast && k.name.contains(end))
    };
    assert!(!has(&options(2), ""));
    let pairs = Cpu::new(&fast).unwrap().caps().features.contains(&"avx512bf16");
    assert_eq!(has(&fast, ".bf16"), pairs);
    assert!(!has(&fast.clone().isa("portable"), ".bf16"));
    if !pairs {
        println!("not on this cpu: avx512bf16");
    }
    let members = ["embed", "quantize", "norm_quantize", "rms_norm", "layer_norm", "map"].map(Pattern::Named);
    for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
        // Of the others, which are the same as without, only what regions are made of.
        let options = fast.clone().isa(set.name());
        let kernels = Cpu::new(&options).unwrap().registry().kernels.clone();
        let without = kernels.iter().filter(|k| !k.fast && !members.contains(&k.implements));
        let options = without.fold(options, |options, kernel| options.without_kernel(kernel.name));
        let report = conformance::run(&Cpu::new(&options).unwrap());
        assert!(report.passed(), "{report}");
        assert_eq!(has(&fast.clone().isa(set.name()), ".q8_256"), set.has_block_sums());
        let block_sums = set.has_block_sums().then_some([".q8_256", "panel16"]);
        let pairs = (pairs && set == Set::Avx512).then_some([".bf16", "lines4"]);
        for [numerics, layout] in block_sums.into_iter().chain(pairs) {
            let name = if numerics == ".bf16" { String::new() } else { format!(".{}", set.name()) };
            for kernel in [
                "linear",
                "norm_linear",
                "quantize_linear",
                "norm_glu",
                "glu",
                "norm_linear_map",
                "quantize_linear_map",
                "linear_map",
            ] {
                for layout in [layout, "file"] {
                    let wanted = format!("{kernel}{numerics}{name} in {layout}");
                    assert!(report.results.iter().any(|r| r.kernels.starts_with(&wanted)), "{wanted}");
                }
            }
        }
    }
}

/// A norm whose squares are added one after the other.
fn in_order(tile: &mut Tile) -> Result<(), StepError> {
    let Op::RmsNorm(op) = tile.op else { unreachable!("the kernel of rms_norm") };
    let (x, w) = (tile.ins[0], tile.ins[1]);
    let mut weights = vec![0.0; w.ty.cols];
    w.ty.dtype.info().decode.unwrap()(w.row_bytes(0), &mut weights);
    for r in tile.outs[0].rows.clone() {
        let parts = tile.outs[0].row::<f32>(r).chunks_exact_mut(weights.len());
        for (out, x) in parts.zip(x.row::<f32>(r).chunks_exact(weights.len())) {
            let squares = x.iter().fold(0f32, |sum, x| x.mul_add(*x, sum));
            let scale = 1.0 / (squares / x.len() as f32 + op.eps).sqrt();
            for ((out, x), w) in out.iter_mut().zip(x).zip(&weights) {
                *out = x * scale * w;
            }
        }
    }
    Ok(())
}

#[test]
fn another_order_of_sums_is_found_though_it_is_as_accurate() {
    let rms_norm = Pattern::Named("rms_norm");
    let kernel = Kernel {
        numerics: F32,
        work: |_| inkstone_compute::Work::WHOLE,
        ..Kernel::by_definition("in_order", rms_norm, Arc::new(in_order as Entry))
    };
    let best = Set::ALL.into_iter().find(|s| s.is_here()).unwrap();
    let report = conformance::run(&Cpu::new(&options(1).isa(best.name()).with_kernel(kernel)).unwrap());
    let failed: Vec<String> = report.failed().map(ToString::to_string).collect();
    // Alone, and as a member of regions whose kernels add in lanes.
    let said = |what: &str| failed.iter().filter(|f| f.contains(what)).count();
    let (alone, within) = (said("other bits than in_order, of"), said("other bits than its members, of"));
    assert!(alone > 0 && within > 0 && alone + within == failed.len(), "{failed:?}");
}

/// Columns that are added to the result, which is right where memory is zero.
fn added(tile: &mut Tile) -> Result<(), StepError> {
    let Op::Columns(op) = tile.op else { unreachable!("the kernel of columns") };
    for r in tile.outs[0].rows.clone() {
        let columns = &tile.ins[0].row::<f32>(r)[op.first..];
        tile.outs[0].row::<f32>(r).iter_mut().zip(columns).for_each(|(out, x)| *out += x);
    }
    Ok(())
}

#[test]
fn a_result_that_depends_on_what_was_there_is_found() {
    let kernel = Kernel::by_definition("added", Pattern::Named("columns"), Arc::new(added as Entry));
    let report = conformance::run(&Cpu::new(&options(1).with_kernel(kernel)).unwrap());
    let failed =
        |what: &str| report.failed().filter(|r| r.case.starts_with(what) && r.kernels.contains("added")).count();
    // In a port, and in the arena.
    assert!(failed("columns") > 0 && failed("forks") > 0, "{report}");
    assert!(report.failed().all(|r| r.kernels.contains("added")), "{report}");
}
