//! Times of steps, as far as they can be told without a clock.

use inkstone::{FinishReason, Model, ModelOptions, Options, Phase, PlanProfile};
use std::time::{Duration, Instant};

const PROMPT: usize = 5;
const DRAWN: usize = 12;

fn run(options: &ModelOptions) -> (Model, Vec<u32>, Duration) {
    let model = Model::embedded(options).unwrap();
    let begun = Instant::now();
    let prompt = [1, 322, 265, 310, 500];
    assert_eq!(prompt.len(), PROMPT);
    let options = Options::default().temperature(0.0).ignore_end(true).max_tokens(DRAWN as u64);
    let ids = model.generate_ids(&prompt, &options).unwrap().ids;
    (model, ids, begun.elapsed())
}

#[test]
fn runs_bytes_and_times_of_each_kernel_add_up_and_change_nothing() {
    let (model, ids, elapsed) = run(&ModelOptions::default().chunk(2).profile(true));
    let plain = run(&ModelOptions::default().chunk(2));
    assert_eq!(ids, plain.1);
    assert!(plain.0.profile().is_none(), "nobody asked for it");

    let plans: Vec<PlanProfile> = model.profile().unwrap();
    let rows: u64 = plans.iter().map(|p| p.runs.rows).sum();
    // The last token that is drawn is not fed.
    assert_eq!(rows as usize, PROMPT + DRAWN - 1);
    let find = |plan: &str, rows| plans.iter().find(|p| p.plan == plan && p.runs.rows / p.runs.count == rows).unwrap();
    let chunks = find("body", 2);
    assert_eq!((chunks.runs.count, chunks.runs.logit_rows, chunks.runs.cached), (2, 0, 2 + 4));
    // The last token of the prompt draws, and all that are drawn but the last.
    let decode = find("body+head+select", 1);
    let cached = (PROMPT..PROMPT + DRAWN).sum::<usize>() as u64;
    assert_eq!((decode.runs.count, decode.runs.logit_rows, decode.runs.cached), (DRAWN as u64, DRAWN as u64, cached));

    // What is explained for a full context, with the tokens that were there.
    let explained = model.explain(Phase::Decode(1)).unwrap();
    let of_kernel = |name: &str| explained.steps.iter().filter(|s| s.kernel == name).map(|s| s.bytes).sum::<u64>();
    let token = model.graph().kv_bytes_per_token();
    for kernel in &decode.kernels {
        let mut wanted = decode.runs.count * of_kernel(&kernel.kernel);
        if kernel.kernel.contains("attend") {
            let context = model.config().context as u64;
            wanted = wanted - decode.runs.count * context * token + cached * token;
        }
        assert_eq!(kernel.bytes, wanted, "{}", kernel.kernel);
        assert!(kernel.time <= elapsed * kernel.steps as u32, "{kernel:?}");
    }
    assert_eq!(decode.kernels.iter().map(|k| k.steps).sum::<usize>(), explained.steps.len());
    let products = decode.kernels.iter().find(|k| k.kernel.contains("linear")).unwrap();
    assert!(!products.time.is_zero());
    assert!(decode.kernels.is_sorted_by(|a, b| a.time >= b.time));
}

/// The same prompt in steps of two, and no more: the last step has a token, and no plan has a head.
#[test]
fn a_limit_of_no_tokens_reads_the_prompt() {
    let model = Model::embedded(&ModelOptions::default().chunk(2).profile(true)).unwrap();
    let options = Options::default().max_tokens(0);
    let reply = model.generate_ids(&[1, 322, 265, 310, 500], &options).unwrap();
    assert_eq!((reply.ids.len(), reply.text.as_str(), reply.finish), (0, "", FinishReason::Length));
    assert_eq!((reply.usage.prompt_tokens, reply.usage.completion_tokens), (PROMPT as u64, 0));
    assert_eq!(reply.timings.prefill, reply.timings.total);
    let plans = model.profile().unwrap();
    assert_eq!(plans.iter().map(|p| p.runs.rows).sum::<u64>(), PROMPT as u64);
    assert!(plans.iter().all(|p| p.plan == "body" && p.runs.logit_rows == 0), "{plans:?}");
    let (free, all) = model.generator().pages();
    assert_eq!(free, all);
}

/// The head computes the logits of a step in windows, each of which is a run of its own.
#[test]
fn logits_in_many_windows_count_each_token_once() {
    let model = Model::embedded(&ModelOptions::default().profile(true)).unwrap();
    let ids: Vec<u32> = (0..200).map(|i| 300 + i).collect();
    model.logits(&ids, None).unwrap();
    let plans = model.profile().unwrap();
    assert!(plans.iter().any(|p| p.plan == "head"), "one window holds all: {plans:?}");
    assert_eq!(plans.iter().map(|p| p.runs.rows).sum::<u64>(), 200);
    assert_eq!(plans.iter().map(|p| p.runs.logit_rows).sum::<u64>(), 200);
}

#[test]
fn definitions_record_no_times() {
    assert!(run(&ModelOptions::default().engine("reference").profile(true)).0.profile().is_none());
}

#[test]
fn the_speed_of_memory_is_that_of_a_machine() {
    let model = Model::embedded(&ModelOptions::default()).unwrap();
    let speed = model.engine().read_bandwidth(2).unwrap();
    assert!((1e7..1e14).contains(&speed), "{speed} bytes a second");
    let reference = Model::embedded(&ModelOptions::default().engine("reference")).unwrap();
    assert_eq!(reference.engine().read_bandwidth(1), None);
}
