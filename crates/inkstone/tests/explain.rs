//! What the story model runs as on the CPU engine.
#![cfg(feature = "embedded-model")]

use inkstone::{Model, ModelOptions, Phase};

/// Ops, and what names of regions consist of, whose work is arithmetic on vectors.
const COMPUTING: [&str; 7] = ["linear", "glu", "attend", "norm", "map", "rope", "quantize"];

#[test]
fn all_arithmetic_runs_on_the_best_instruction_set() {
    for isa in ["avx512", "avx2", "portable"] {
        let Ok(model) = Model::embedded(&ModelOptions::default().engine("cpu").isa(isa)) else {
            eprintln!("not on this cpu: {isa}");
            continue;
        };
        for phase in [Phase::Decode(1), Phase::Decode(8), Phase::Decode(64), Phase::Prefill(512)] {
            for step in model.explain(phase).unwrap().steps {
                assert!(!step.scalar, "{phase:?}: {step:?}");
                let computes = COMPUTING.iter().any(|name| step.op.contains(name));
                let expected = if computes { Some(isa) } else { step.isa };
                assert_eq!(step.isa, expected, "{phase:?}: {step:?}");
            }
        }
    }
    // Without a choice it is the best.
    let model = Model::embedded(&ModelOptions::default().engine("cpu")).unwrap();
    let explained = model.explain(Phase::Decode(1)).unwrap();
    let best = explained.engine.features.first().copied();
    assert!(explained.steps.iter().all(|s| s.isa.is_none() || s.isa == best), "{best:?}");
}
