//! The counts of a profile: each row, logit row and cached token of a step is counted once.

use crate::rig::{BOS, Request, Setup};
use inkstone_generate::{Generator, PlanTimes, Runs};

/// Steps of up to 16 rows, windows of up to 4 logit rows.
fn generator(setup: Setup) -> Generator {
    Setup { timed: true, ..setup }.generator()
}

/// The sums over all plans that have the body, and over the others, which compute further windows of logits.
fn counts(generator: &Generator) -> [Runs; 2] {
    let profile = generator.profile().unwrap();
    let sum = |body: bool| {
        let of = |p: &&PlanTimes| p.plan.steps.iter().any(|s| s.op.name() == "begin_step") == body;
        profile.iter().filter(of).fold(Runs::default(), |sum, p| Runs {
            count: sum.count + p.runs.count,
            rows: sum.rows + p.runs.rows,
            logit_rows: sum.logit_rows + p.runs.logit_rows,
            cached: sum.cached + p.runs.cached,
        })
    };
    [sum(true), sum(false)]
}

fn runs(count: u64, rows: u64, logit_rows: u64, cached: u64) -> Runs {
    Runs { count, rows, logit_rows, cached }
}

#[test]
fn a_prompt_counts_its_chunks_and_a_decode_its_token() {
    let generator = generator(Setup { chunk: 4, ..Setup::default() });
    assert_eq!(counts(&generator), [Runs::default(); 2]);
    Request::new(1, &[BOS; 10]).tokens(3).reply(&generator);
    // 4, 4 and 2 tokens of the prompt, then two of three drawn tokens are fed.
    let cached = (4 + 8 + 10) + (11 + 12);
    assert_eq!(counts(&generator), [runs(5, 12, 3, cached), Runs::default()]);
}

#[test]
fn sequences_that_share_a_step_are_counted_together() {
    let generator = generator(Setup::default());
    let requests = [3, 5].map(|prompt| Request::new(prompt, &vec![BOS; prompt as usize]).tokens(4));
    let mut readers = requests.each_ref().map(|r| r.stream(&generator));
    readers.iter_mut().for_each(|reader| drop(reader.rest()));
    let cached = (3 + 5) + (4 + 6) + (5 + 7) + (6 + 8);
    assert_eq!(counts(&generator), [runs(4, 8 + 3 * 2, 4 * 2, cached), Runs::default()]);
}

#[test]
fn rows_are_counted_once_for_all_windows_of_logits() {
    let generator = generator(Setup::default());
    generator.logits(&[3; 10], &[]).unwrap();
    // Windows of 4, 4 and 2 logit rows; the body runs with the first.
    assert_eq!(counts(&generator), [runs(1, 10, 4, 10), runs(2, 0, 6, 0)]);
    // 16 and 4 tokens have four windows and one.
    generator.logits(&[3; 20], &[]).unwrap();
    let cached = 10 + (16 + 20);
    assert_eq!(counts(&generator), [runs(3, 30, 12, cached), runs(2 + 3, 0, 6 + 12, 0)]);
}

#[test]
fn logits_have_the_steps_that_the_caller_asks_for() {
    let generator = generator(Setup { logit_rows: vec![16], ..Setup::default() });
    generator.logits(&[3; 13], &[2, 5, 3]).unwrap();
    // 2, 5, 3 and again 3 tokens.
    assert_eq!(counts(&generator), [runs(4, 13, 13, 2 + 7 + 10 + 13), Runs::default()]);
}

#[test]
fn rows_are_counted_once_for_all_windows_of_draws() {
    let generator = generator(Setup { sequences: 6, logit_rows: vec![1, 2], prefix: false, ..Setup::default() });
    let mut readers: Vec<_> = (0..5).map(|i| Request::new(i, &[BOS, 3]).tokens(3).stream(&generator)).collect();
    readers.iter_mut().for_each(|reader| drop(reader.rest()));
    // Three steps with windows of 2, 2 and 1 logit rows: 10 rows of prompts, then 5 decodes each.
    let cached = 5 * (2 + 3 + 4);
    assert_eq!(counts(&generator), [runs(3, 20, 6, cached), runs(6, 0, 9, 0)]);
}

#[test]
fn a_plan_is_counted_under_the_smallest_buckets_that_hold_its_step() {
    let generator = generator(Setup { prefix: false, ..Setup::default() });
    for prompt in [1, 2, 4, 5, 16] {
        Request::new(1, &vec![BOS; prompt]).tokens(1).reply(&generator);
    }
    let buckets: Vec<_> =
        generator.profile().unwrap().iter().map(|p| (p.plan.bucket.rows, p.runs.count, p.runs.rows)).collect();
    assert_eq!(buckets, [(1, 1, 1), (4, 2, 6), (16, 2, 21)]);
}

#[test]
fn an_engine_without_times_has_no_profile() {
    let generator = Setup::default().generator();
    Request::new(1, &[BOS]).tokens(2).reply(&generator);
    assert!(generator.profile().is_none());
}
