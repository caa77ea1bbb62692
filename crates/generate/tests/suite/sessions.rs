//! Sessions: texts that grow over many calls.

use crate::rig::{BOS, Outcome, Request, Setup};
use inkstone_generate::{FinishReason, Flow, Generator, Options, Session};

/// What a session generates next has the outcome of its whole text.
fn turn(session: &mut Session, seed: u64, tokens: u64) -> u64 {
    let request = Request::new(seed, session.ids()).tokens(tokens);
    let reply = session.generate(&request.options()).unwrap();
    let cached = reply.usage.cached_tokens;
    let wanted = request.outcome(200);
    assert_eq!(session.ids(), [&request.prompt[..], &wanted.ids].concat());
    assert_eq!(Outcome::of(reply), wanted);
    cached
}

fn generator() -> Generator {
    Setup { context: 200, ..Setup::default() }.generator()
}

#[test]
fn ten_turns_compute_what_is_new() {
    let generator = generator();
    let mut session = generator.session();
    let mut before = 0;
    for seed in 0..10 {
        session.append_ids(&[3, 4, 5, 6 + seed as u32]).unwrap();
        let cached = turn(&mut session, seed, 5);
        // All but the last token of the answer before.
        assert_eq!(cached as usize, if seed == 0 { 0 } else { before - 1 });
        before = session.ids().len();
    }
    // An edit in the middle.
    session.truncate(30);
    session.append_ids(&[15, 15, 3]).unwrap();
    assert_eq!(turn(&mut session, 11, 5), 30);
    session.reset();
    assert!(session.ids().is_empty());
    assert_eq!(session.generate(&Options::default()).unwrap_err().to_string(), "the prompt has no tokens");
}

#[test]
fn e03_a_session_longer_than_the_context_is_refused_and_keeps_its_text() {
    let generator = Setup { context: 20, ..Setup::default() }.generator();
    let mut session = generator.session();
    session.append_ids(&[BOS; 15]).unwrap();
    let before = session.ids().len();
    let refused = session.append_ids(&[3; 6]).and_then(|()| session.generate(&Options::default()).map(drop));
    assert_eq!(refused.unwrap_err().to_string(), "the prompt has 21 tokens, the context holds 20");
    session.truncate(before);
    // The room that is left ends the text, and the full session says so.
    let reply = session.generate(&Options::default().seed(1).unlimited().ignore_end(true)).unwrap();
    assert_eq!((reply.ids.len(), reply.finish), (5, FinishReason::Context));
    let reply = session.generate(&Options::default()).unwrap();
    assert_eq!((reply.ids.len(), reply.finish, session.ids().len()), (0, FinishReason::Context, 20));
    // A text far beyond the context is refused before it is cut into tokens.
    let error = session.append(&"a".repeat(1 << 24)).unwrap_err().to_string();
    assert!(error.contains("16777216") && error.contains("1280"), "{error}");
    assert_eq!(session.ids().len(), 20);
}

#[test]
fn forks_go_on_by_themselves() {
    let generator = generator();
    let mut session = generator.session();
    session.append_ids(&[3, 4, 5, 6, 7, 8, 9]).unwrap();
    turn(&mut session, 1, 6);
    let mut fork = session.fork();
    session.append_ids(&[3]).unwrap();
    fork.append_ids(&[4]).unwrap();
    for seed in 2..5 {
        turn(&mut session, seed, 3);
        turn(&mut fork, seed + 10, 3);
    }
}

#[test]
fn what_was_given_out_is_a_part_of_the_session() {
    let generator = generator();
    let mut session = generator.session();
    session.append_ids(&[BOS, 3]).unwrap();
    let request = Request::new(1, session.ids()).tokens(9);
    let whole = request.outcome(200);
    assert_eq!(session.stream(&request.options()).unwrap().take(4).count(), 4);
    assert_eq!(session.ids(), [&[BOS, 3], &whole.ids[..4]].concat());

    let mut session = generator.session();
    session.append_ids(&[BOS, 3]).unwrap();
    let mut pieces = 0;
    let stopped = session.generate_with(&request.options(), |_| {
        pieces += 1;
        if pieces < 3 { Flow::Continue } else { Flow::Fail("enough".into()) }
    });
    assert_eq!(stopped.unwrap_err().to_string(), "the callback failed: enough");
    assert_eq!(session.ids(), [&[BOS, 3], &whole.ids[..3]].concat());
}

#[test]
fn texts_are_encoded_as_parts_of_one() {
    let generator = generator();
    let mut session = generator.session();
    session.append("ab").unwrap();
    let first = generator.encode("ab", &Options::default()).unwrap();
    assert_eq!(session.ids(), first);
    // No token at the beginning, and no space.
    session.append("ca").unwrap();
    assert_eq!(session.ids(), [&first[..], &[7]].concat());
    let error = session.append_ids(&[16]).unwrap_err().to_string();
    assert_eq!(error, format!("token 16 at place {} of the prompt, the vocabulary has 16", first.len() + 1));
    assert_eq!(session.ids().len(), first.len() + 1);
    let error = session.append_ids(&[3; 200]).unwrap_err().to_string();
    assert_eq!(error, format!("the prompt has {} tokens, the context holds 200", first.len() + 201));
}

#[test]
fn a_text_is_kept_as_it_was_given_out() {
    let generator = generator();
    // "ab a€abc", with an end token at the end. The bytes of the sign are three tokens.
    let ids = [6, 10, 12, 13, 14, 8, 2];
    let whole = "ab a€abc";
    let tokens = |text: &str| match text {
        "" | "a" => 0,
        "ab" | "ab " => 1,
        "ab a" => 2,
        "ab a€" | "ab a€a" | "ab a€ab" => 5,
        _ => 6,
    };
    for (end, _) in whole.char_indices().chain([(whole.len(), ' ')]) {
        let mut session = generator.session();
        session.append("ca").unwrap();
        let len = session.ids().len();
        session.append_ids(&ids).unwrap();
        session.keep_text(len, &whole[..end]).unwrap();
        let kept = &session.ids()[len..];
        assert_eq!(generator.tokenizer().decode(kept), &whole.as_bytes()[..end]);
        assert_eq!(&kept[..tokens(&whole[..end])], &ids[..tokens(&whole[..end])]);
    }
    let mut session = generator.session();
    session.keep_text(9, "ab").unwrap();
    assert_eq!(session.ids(), generator.encode("ab", &Options::default()).unwrap());
}
