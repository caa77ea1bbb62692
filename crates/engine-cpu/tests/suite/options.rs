//! What the options make of the engine.

use inkstone_compute::{Engine, EngineOptions, Engines, Error};
use inkstone_engine_cpu::{Cpu, Set};
use std::sync::Arc;

#[test]
fn an_instruction_set_is_chosen_by_name() {
    for set in Set::ALL.into_iter().filter(|s| s.is_here()) {
        let engine = Cpu::new(&EngineOptions::default().isa(set.name())).unwrap();
        assert_eq!(engine.caps().features, [set.name()]);
        let kernels = &engine.registry().kernels;
        assert!(kernels.iter().all(|k| k.requires.iter().all(|r| *r == set.name())));
    }
}

#[test]
fn an_instruction_set_that_is_not_here_is_refused_and_nothing_else_taken() {
    let mut engines = Engines::reference();
    engines.register(Cpu::NAME, Arc::new(|options| Ok(Arc::new(Cpu::new(options)?))));
    let here: Vec<&str> = Set::ALL.into_iter().filter(|s| s.is_here()).map(Set::name).collect();
    let options = EngineOptions::default().isa("avx9");
    for name in ["cpu", "auto"] {
        let error = engines.open(name, &options).err().unwrap();
        assert!(matches!(error, Error::NoIsa { .. }));
        let wanted = format!("engine cpu has no instruction set avx9 here; there are: {}", here.join(", "));
        assert_eq!(error.to_string(), wanted);
    }
    let error = engines.open("reference", &EngineOptions::default().isa("portable")).err().unwrap().to_string();
    assert_eq!(error, "engine reference has no instruction set portable here; there are: none");
}
