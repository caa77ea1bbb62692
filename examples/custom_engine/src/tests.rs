//! Tests for every engine: the conformance suite, and the agreement with other engines.

use crate::engine::Plain;
use inkstone::compute::{Engine, EngineOptions, Error, Usage, conformance};
use inkstone::{Model, ModelOptions, Options, engines};
use std::sync::Arc;

#[test]
fn its_kernels_are_the_definitions() {
    let report = conformance::run(&Plain::new(&EngineOptions::default().budget(1 << 28)));
    assert!(report.passed(), "{report}");
    let by = |name| report.results.iter().filter(|r| r.kernels == name).count();
    assert!(by("linear.serial") > 0 && by("definition") > by("linear.serial"), "{report}");
    assert_eq!(report.skipped().count(), 0, "{report}");
}

#[test]
fn a_registered_engine_tells_the_story_of_the_definitions() {
    engines::register(Plain::NAME, Arc::new(|options| Ok(Arc::new(Plain::new(options)))));
    let open = |engine| Model::embedded(&ModelOptions::default().engine(engine).ctx(64)).unwrap();
    let (plain, reference) = (open(Plain::NAME), open("reference"));
    assert_eq!(plain.engine().caps().name, Plain::NAME);
    let options = Options::default().temperature(0.0).max_tokens(24);
    let story = |model: &Model| model.generate("Once upon a time", &options).unwrap().text;
    assert_eq!(story(&plain), story(&reference));
}

#[test]
fn memory_beyond_the_budget_is_refused_with_the_numbers_and_given_back() {
    let engine = Plain::new(&EngineOptions::default().budget(1000));
    let first = engine.alloc(600, Usage::Arena).unwrap();
    let error = engine.alloc(600, Usage::State).map(drop).unwrap_err();
    assert!(matches!(error, Error::Budget { bytes: 600, free: 400, budget: 1000, .. }), "{error}");
    drop(first);
    engine.alloc(600, Usage::State).unwrap();
}
