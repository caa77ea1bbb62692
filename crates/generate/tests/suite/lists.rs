//! Lists as long as the vocabulary: a step has room for one such request, and the others wait.

use crate::rig::{BOS, Outcome, Request, Setup, VOCAB};
use inkstone_generate::Options;

/// Options with biases that take more than half of the room. They change no draw, which is a hash.
fn long(request: &Request) -> Options {
    let biases = (0..3 * VOCAB as u32).map(|i| (i % VOCAB as u32, 0.5));
    biases.fold(request.options(), |options, (id, bias)| options.logit_bias(id, bias))
}

fn requests() -> Vec<Request> {
    (0..6).map(|seed| Request::new(seed, &[BOS, 3 + seed as u32]).tokens(9)).collect()
}

#[test]
fn a_long_list_waits_for_another_one() {
    let generator = Setup { sequences: 4, ..Setup::default() }.generator();
    let requests = requests();
    // Every second one has a long list.
    for every in [1, 2] {
        let options = |(i, r): (usize, &Request)| if i % every == 0 { long(r) } else { r.options() };
        let asked = requests
            .iter()
            .enumerate()
            .map(|(i, r)| inkstone_generate::Request::new(r.prompt.clone(), options((i, r))));
        let asked: Vec<_> = asked.collect();
        let mut most = 0;
        for piece in generator.stream_batch(&asked) {
            assert!(piece.piece.is_ok());
            most = most.max(generator.metrics().running);
        }
        assert_eq!(most, every, "of two sequences with long lists one runs");
        for (reply, request) in generator.generate_batch(&asked).into_iter().zip(&requests) {
            assert_eq!(Outcome::of(reply.unwrap().remove(0)), request.outcome(64));
        }
    }
}

#[test]
fn a_reader_that_is_behind_gives_up_the_room_for_its_list() {
    let generator = Setup { context: 200, sequences: 2, ..Setup::default() }.generator();
    let [unread, read] = [1, 2].map(|seed| Request::new(seed, &[BOS]).tokens(150));
    let mut first = generator.stream_ids(&unread.prompt, &long(&unread)).unwrap();
    first.next().unwrap().unwrap();
    let reply = generator.generate_ids(&read.prompt, &long(&read)).unwrap();
    assert_eq!(Outcome::of(reply), read.outcome(200));
    assert_eq!((first.usage().completion_tokens, generator.metrics().preemptions), (65, 1));
    first.by_ref().for_each(|piece| drop(piece.unwrap()));
    assert_eq!(first.ids(), unread.outcome(200).ids);
}
