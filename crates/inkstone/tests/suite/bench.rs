//! What is measured, as far as it can be told without a clock.

use inkstone::bench::{Bench, Meter, SLICE};
use inkstone::gguf::TensorInfo;
use inkstone::{Model, ModelOptions, Options};
use std::time::Duration;

fn model(options: &ModelOptions) -> Model {
    Model::embedded(options).unwrap()
}

/// What comes back after a way forth is what was there: the same token follows.
#[test]
fn sequences_go_back_to_where_they_were() {
    let model = model(&ModelOptions::default().ctx(64));
    let mut bench = Bench::new(&model, 2, 64, None).unwrap();
    bench.fill(20).unwrap();
    let mut after = |tokens| {
        bench.decode(tokens, Duration::ZERO).unwrap();
        bench.drawn().to_vec()
    };
    let (one, five) = (after(1), after(5));
    assert_eq!((after(1), after(5)), (one.clone(), five));
    assert_eq!(one[0], one[1], "both sequences have the same tokens");
    // A prompt is forgotten, too, and one that is fed again gives the same token again.
    bench.prompt(7).unwrap();
    let first = bench.drawn().to_vec();
    bench.fill(0).unwrap();
    bench.fill(20).unwrap();
    bench.prompt(7).unwrap();
    assert_eq!(bench.drawn(), first);
}

#[test]
fn slices_count_tokens_bytes_and_products() {
    let model = model(&ModelOptions::default().ctx(64));
    let mut bench = Bench::new(&model, 3, 64, None).unwrap();
    bench.fill(10).unwrap();
    let slices = bench.decode(4, Duration::ZERO).unwrap();
    assert_eq!(slices.len(), 4, "a slice is one step at least, and no more if that is too long");
    let weights = bench.traffic().decode_bytes(1, 0);
    let cached = |tokens: u64| weights + 3 * tokens * model.graph().kv_bytes_per_token();
    for (slice, tokens) in slices.iter().zip(11..) {
        assert_eq!((slice.tokens, slice.steps, slice.bytes, slice.reads), (3, 1, cached(tokens), None));
    }
    let whole = bench.decode(4, Duration::MAX).unwrap();
    assert_eq!((whole.len(), whole[0].tokens), (1, 12));
    assert_eq!(whole[0].macs, slices.iter().map(|s| s.macs).sum::<u64>());

    // All of the weights but the table of embeddings, unless that is the head, too.
    let footprint = model.generator().footprint().weights;
    let table = model.file().tensor("token_embd.weight").unwrap().bytes.unwrap();
    let tied = model.file().tensor("output.weight").is_none();
    assert_eq!(weights, if tied { footprint } else { footprint - table });
    let values = |t: &TensorInfo| if t.dims.len() == 2 { t.dims.iter().product() } else { 0 };
    let matrices = model.file().tensors().iter().filter(|t| tied || t.name != "token_embd.weight");
    let traffic = bench.traffic();
    let [cache] = traffic.caches[..] else { panic!("{traffic:?}") };
    assert_eq!(traffic.body_macs + traffic.head_macs, matrices.map(values).sum::<u64>());
    // A value of two bytes is multiplied once for each query head of its group.
    let config = &model.graph().config;
    assert_eq!(cache.most, u64::MAX);
    assert_eq!(cache.macs, cache.bytes / 2 * (config.heads / config.kv_heads) as u64);

    // A prompt in one go has the products of its tokens one by one, and the head's once.
    for before in [0, 3] {
        let alone: u64 = (1..=5).map(|n| traffic.body_macs + (before + n) * cache.macs).sum();
        assert_eq!(traffic.prompt_macs(5, before as usize), alone + traffic.head_macs);
    }
    let one = traffic.body_macs + traffic.head_macs + 7 * cache.macs;
    assert_eq!((traffic.decode_macs(1, 7), traffic.decode_macs(3, 7)), (one, 3 * one));
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_the_model_usable() {
    let model = model(&ModelOptions::default().ctx(32).sequences(2));
    let refused = |sequences, tokens| Bench::new(&model, sequences, tokens, None).err().unwrap().to_string();
    assert_eq!(refused(3, 8), "option sequences is 3, allowed: 1 to 2");
    assert_eq!(refused(0, 8), "option sequences is 0, allowed: 1 to 2");
    assert_eq!(refused(1, 33), "option tokens of a sequence is 33, allowed: 1 to 32");
    let mut bench = Bench::new(&model, 1, 8, None).unwrap();
    assert_eq!(bench.prompt(9).unwrap_err().to_string(), "option tokens is 9, allowed: 1 to 8");
    bench.fill(8).unwrap();
    assert_eq!(bench.decode(1, SLICE).unwrap_err().to_string(), "option tokens is 1, allowed: none, 8 are there");
    drop(bench);
    assert_eq!(model.generator().pages().0, model.generator().pages().1);
    model.generate("Once", &Options::default().max_tokens(2)).unwrap();
    // A stream that is read half has its sequence.
    let mut stream = model.stream("Once upon", &Options::default().ignore_end(true).max_tokens(9)).unwrap();
    stream.next().unwrap().unwrap();
    assert!(Bench::new(&model, 1, 8, None).err().unwrap().to_string().contains("busy"));
    drop(stream);
    assert!(Bench::new(&model, 1, 8, None).is_ok());
}

#[test]
fn the_machine_is_measured_around_each_slice() {
    let model = model(&ModelOptions::default().ctx(16).threads(2));
    let mut meter = Meter::new(&model).unwrap();
    assert!((1e7..1e14).contains(&meter.alone()) && (1e6..1e16).contains(&meter.products()));
    assert!(meter.bytes() > 0 && meter.streams() > 0);
    let mut bench = Bench::new(&model, 1, 16, Some(&mut meter)).unwrap();
    let slices = bench.decode(3, Duration::ZERO).unwrap();
    assert_eq!(slices.len(), 3);
    let reads: Vec<(f64, f64)> = slices.iter().map(|s| s.reads.unwrap()).collect();
    assert!(reads.windows(2).all(|r| r[0].1.to_bits() == r[1].0.to_bits()), "what is after one is before the next");
    let reference = Model::embedded(&ModelOptions::default().engine("reference")).unwrap();
    assert!(Meter::new(&reference).is_none());
}
