//! The model inside the library.

use inkstone::{FinishReason, Model, ModelOptions, Options};

#[test]
fn the_embedded_model_is_the_shipped_file() {
    let embedded = Model::embedded(&ModelOptions::default()).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/story-5m-q8_0.gguf");
    let opened = Model::open(path).unwrap();
    let options = Options::default().seed(1).max_tokens(12);
    let (a, b) = (embedded.generate("Once", &options).unwrap(), opened.generate("Once", &options).unwrap());
    assert_eq!((&a.ids, &a.text, a.finish), (&b.ids, &b.text, FinishReason::Length));
    // Tensors are read where they lie in the program.
    let tensor = embedded.file().tensor_data("token_embd.weight").unwrap();
    assert_eq!(tensor.as_slice().as_ptr() as usize % 32, 0);
}

#[test]
fn a_budget_bounds_the_context_and_the_weights() {
    let open = |bytes| Model::embedded(&ModelOptions::default().budget(bytes));
    let plain = Model::embedded(&ModelOptions::default()).unwrap();
    let small = open(7 << 20).unwrap();
    assert!(small.config().context < plain.config().context, "{}", small.config().context);
    assert!(small.notes().iter().any(|n| n.contains("memory does not hold")), "{:?}", small.notes());
    let error = open(1 << 20).map(|_| ()).unwrap_err();
    assert!(error.is_lack_of_memory_for_weights(), "{error}");
}
