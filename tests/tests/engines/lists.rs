//! Lists as long as a large vocabulary: a step has room for one of them, and the texts are the same.

use inkstone::{Model, ModelOptions, Options, Request};
use inkstone_tests::tiny::{BOS, Tiny};

const VOCAB: usize = 131_072;
const SEQUENCES: usize = 64;

/// Biases of all tokens for a request: most are small, and a token of its own has the largest.
fn biases(request: u32) -> Options {
    let favourite = 1000 + 7 * request;
    let bias = |id: u32| if id == favourite { 9.0 } else { (id.wrapping_mul(2_654_435_761) >> 24) as f32 / 256.0 };
    let none = Options::default().temperature(0.0).max_tokens(2);
    (0..VOCAB as u32).fold(none, |options, id| options.logit_bias(id, bias(id)))
}

#[test]
fn sixty_four_biases_of_all_tokens_give_the_texts_of_each_in_little_memory() {
    let logits: Vec<f32> = (0..VOCAB).map(|id| (id % 13) as f32 / 16.0).collect();
    let options = ModelOptions::default().threads(2).sequences(SEQUENCES);
    let model: Model = Tiny::with_logits(&logits).open_with(&options).unwrap();
    let needs = model.generator().needs();
    let pages = model.config().context.div_ceil(model.config().page) as u64;
    let step = needs.step + pages * needs.table;
    assert!(step < 4 << 20, "a step buffer of {step} bytes");
    let requests: Vec<Request> = (0..SEQUENCES as u32).map(|i| Request::new([BOS].as_slice(), biases(i))).collect();
    let together = model.generate_batch(&requests);
    for (i, (together, request)) in together.into_iter().zip(&requests).enumerate() {
        let (together, one) = (together.unwrap().remove(0), model.generate_ids(&[BOS], &request.options).unwrap());
        assert_eq!((&together.ids, &together.text), (&one.ids, &one.text), "request {i}");
        assert_eq!(one.ids, [1000 + 7 * i as u32; 2], "request {i}");
    }
}
