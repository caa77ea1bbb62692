//! Steps under way: the whole suite with them, and their number.

use crate::rig::{AHEAD, BOS, Request, Setup};
use inkstone_compute::conformance::Delayed;
use inkstone_generate::{Options, PageOrder};
use std::process::Command;
use std::sync::Arc;

#[test]
fn with_steps_under_way_every_test_of_this_suite_holds() {
    if std::env::var_os(AHEAD).is_some() {
        return;
    }
    for ahead in ["1", "2", "3", "4"] {
        let mut suite = Command::new(std::env::current_exe().unwrap());
        // The tests of failures and of draws by the host have their own steps under way.
        let output = suite.args(["--skip", "failures::", "--skip", "host::"]).env(AHEAD, ahead).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{ahead} steps under way:\n{text}");
        assert!(text.contains("random_requests_have_the_outcome_of_their_options ... ok"), "{text}");
    }
}

#[test]
fn no_step_is_launched_behind_a_limit() {
    for ahead in 1..=4 {
        let setup = Setup { chunk: 4, ..Setup::default() };
        let engine = Arc::new(Delayed::new(setup.engine(), ahead, 7));
        let generator = setup.open(engine.clone(), Options::default()).unwrap();
        Request::new(1, &[BOS; 10]).tokens(6).reply(&generator);
        assert_eq!(engine.counts().submits, 3 + 5, "three chunks, and a decode for each further token");
        Request::new(1, &[5; 10]).tokens(0).reply(&generator);
        generator.logits(&[3; 4], &[]).unwrap();
        assert_eq!(engine.counts().submits, 8 + 3 + 1, "a prompt, and logits of one window");
    }
}

#[test]
fn unread_pieces_stay_within_their_limit() {
    for ahead in 1..=4 {
        let setup = Setup { context: 400, ..Setup::default() };
        let engine = Arc::new(Delayed::new(setup.engine(), ahead, 8));
        let generator = setup.open(engine, Options::default()).unwrap();
        let request = |seed| Request::new(seed, &[BOS]).tokens(300);
        let (mut unread, mut other) = (request(1).stream(&generator), request(2).stream(&generator));
        other.read_pieces(150);
        assert_eq!(unread.stream().usage().completion_tokens, 64, "{ahead} steps under way");
        assert_eq!((unread.rest(), other.rest()), (request(1).outcome(400), request(2).outcome(400)));
    }
}

#[test]
fn steps_of_benchmarks_draw_the_same_with_any_number_under_way_and_in_any_pages() {
    let drawn = |ahead, order| {
        let setup = Setup::default();
        let engine = Arc::new(Delayed::new(setup.engine(), ahead, 9));
        let generator = setup.open(engine, Options::default()).unwrap();
        let mut steps = generator.steps_in_pages(2, 40, order).unwrap();
        let mut drawn = Vec::new();
        for prompt in [5, 3, 1] {
            steps.prompt(prompt).unwrap();
            for _ in 0..4 {
                drawn.push(steps.drawn().to_vec());
                steps.decode().unwrap();
            }
        }
        steps.truncate(6).unwrap();
        steps.decode().unwrap();
        drawn.push(steps.drawn().to_vec());
        assert_eq!(steps.len(), 7);
        drawn
    };
    let wanted = drawn(1, PageOrder::AsFreed);
    for order in [PageOrder::AsFreed, PageOrder::Ascending, PageOrder::Random(5)] {
        (1..=4).for_each(|ahead| assert_eq!(drawn(ahead, order), wanted, "{order:?}, {ahead} steps under way"));
    }
}
