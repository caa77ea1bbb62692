//! What the story model runs as on the CPU engine.

use inkstone::graph::fusions;
use inkstone::{Model, ModelOptions, Phase};

/// Ops, and what names of regions consist of, whose work is arithmetic on vectors.
const COMPUTING: [&str; 7] = ["linear", "glu", "attend", "norm", "map", "rope", "quantize"];

/// That all steps that compute have a kernel of this set.
fn runs_on(model: &Model, isa: &str) {
    for phase in [Phase::Decode(1), Phase::Decode(8), Phase::Decode(64), Phase::Prefill(512)] {
        for step in model.explain(phase).unwrap().steps {
            assert!(!step.scalar, "{phase:?}: {step:?}");
            let computes = COMPUTING.iter().any(|name| step.op.contains(name));
            let expected = if computes { Some(isa) } else { step.isa };
            assert_eq!(step.isa, expected, "{phase:?}: {step:?}");
        }
    }
}

#[test]
fn all_arithmetic_runs_on_the_best_instruction_set() {
    let fused = ModelOptions::default().engine("cpu");
    let apart = fusions().fold(fused.clone(), |options, name| options.without_fusion(name));
    for options in [fused, apart] {
        for isa in ["avx512", "avx2", "portable"] {
            match Model::embedded(&options.clone().isa(isa)) {
                Ok(model) => runs_on(&model, isa),
                Err(_) => println!("not on this cpu: {isa}"),
            }
        }
        // Without a choice it is the best.
        let model = Model::embedded(&options).unwrap();
        runs_on(&model, model.engine().caps().features[0]);
    }
}
