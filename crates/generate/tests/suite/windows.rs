//! Models with windows: texts, sessions and beams have the bits of cold runs, and go on where rows are there.

use crate::rig::{Request, Rng, Setup, VOCAB, WINDOW};
use inkstone_generate::{Generator, Options};
use inkstone_tensor::ops::Window;
use std::process::Command;

/// A model of one layer with this window. Draws are by the definition.
fn setup(size: usize, first: usize) -> Setup {
    let window = Some(Window { size, first });
    Setup { context: 400, attention: Some(1), samples: true, window, rows: vec![1, 4, 64], ..Setup::default() }
}

fn text(len: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng(seed);
    (0..len).map(|_| 3 + rng.below(VOCAB - 3) as u32).collect()
}

/// The tokens of a prompt that were found.
fn cached(generator: &Generator, prompt: &[u32]) -> usize {
    let reply = generator.generate_ids(prompt, &Request::new(1, prompt).tokens(4).options()).unwrap();
    reply.usage.cached_tokens as usize
}

#[test]
fn every_text_of_this_suite_has_the_same_bits_with_windows() {
    if std::env::var_os(WINDOW).is_some() {
        return;
    }
    for window in ["1:0", "5:2", "30:0"] {
        let mut suite = Command::new(std::env::current_exe().unwrap());
        let parts = ["session_files::random", "session_files::failures", "beams::", "failures::", "host::"];
        let parts = parts.into_iter().chain(["random::", "soak::", "preemption::"]);
        let output = suite.args(parts).env(WINDOW, window).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "window {window}:\n{text}");
        assert!(text.contains("random_conversations_have_the_same_bits ... ok"), "{text}");
    }
}

#[test]
fn texts_go_on_from_the_ends_of_prompts_and_replies() {
    for ahead in 0..=4 {
        let generator = Setup { ahead, ..setup(20, 3) }.generator();
        let prompt = text(150, 1);
        assert_eq!(cached(&generator, &prompt), 0);
        assert_eq!(cached(&generator, &prompt), 149, "the same prompt");
        let reply = generator.generate_ids(&prompt, &Request::new(1, &prompt).tokens(4).options()).unwrap();
        let turn = [&prompt[..], &reply.ids, &text(9, 2)].concat();
        assert_eq!(cached(&generator, &turn), 153, "a next turn, {ahead} steps ahead");
        // An edit far above: the first rows are there, up to the end of their page.
        let mut edited = prompt.clone();
        edited[100] = 3 + (edited[100] - 2) % 12;
        assert_eq!(cached(&generator, &edited), 4);
        // It has set a checkpoint where it parts.
        edited[100] = 3 + (edited[100] - 2) % 12;
        assert_eq!(cached(&generator, &edited), 100);
    }
}

#[test]
fn a_long_beginning_that_requests_share_is_computed_once() {
    let shared = text(200, 1);
    let prompt = |seed| [&shared[..], &text(20, seed)].concat();
    let computed = |generator: &Generator| {
        let metrics = generator.metrics();
        (metrics.prefix_cache_queries - metrics.prefix_cache_hits) as usize
    };
    // One after the other: the second computes it again, and sets a checkpoint.
    let generator = setup(20, 0).generator();
    for (seed, wanted) in [(2, 220), (3, 440), (4, 460), (5, 480)] {
        cached(&generator, &prompt(seed));
        assert_eq!(computed(&generator), wanted, "{seed}");
    }
    // At once: the others wait, and go on where they part.
    let generator = setup(20, 0).generator();
    let mut streams: Vec<_> = (2..5).map(|seed| Request::new(1, &prompt(seed)).tokens(4).stream(&generator)).collect();
    streams.iter_mut().for_each(|stream| drop(stream.rest()));
    assert_eq!(computed(&generator), 260);
}

#[test]
fn a_shared_beginning_that_ends_with_a_step_within_a_page_is_kept() {
    // Steps end after 50, 100 and 150 tokens, pages after 148 and 152.
    let generator = Setup { chunk: 50, ..setup(20, 0) }.generator();
    let found = [2, 3, 4, 5].map(|seed| cached(&generator, &[&text(150, 1)[..], &text(20, seed)].concat()));
    assert_eq!(found, [0, 0, 150, 150]);
}

#[test]
fn long_prompts_have_checkpoints_on_their_way() {
    let setup = Setup { context: 5000, sequences: 1, ..setup(20, 0) };
    let generator = setup.generator();
    let prompt = text(4200, 1);
    assert_eq!(cached(&generator, &prompt), 0);
    for (at, wanted) in [(4150, 4096), (3000, 2048), (2000, 0)] {
        let mut edited = prompt.clone();
        edited[at] = 3 + (edited[at] - 2) % 12;
        assert_eq!(cached(&generator, &edited), wanted, "edited at {at}");
    }
}

/// Checks a number of computed tokens: random texts may begin with the same one or two.
#[track_caller]
fn check(computed: usize, wanted: usize, what: &str) {
    assert!((wanted - 2..=wanted).contains(&computed), "{what}: {computed}, not {wanted}");
}

/// A conversation: the messages, with the replies between them.
struct Chat {
    text: Vec<u32>,
    seed: u64,
}

impl Chat {
    /// Adds a message and its reply. Returns the tokens of the prompt that were computed.
    fn turn(&mut self, generator: &Generator) -> usize {
        self.seed += 100;
        self.text.extend(text(30, self.seed));
        let options = Request::new(1, &self.text).tokens(11).options();
        let reply = generator.generate_ids(&self.text, &options).unwrap();
        let computed = self.text.len() - reply.usage.cached_tokens as usize;
        self.text.extend(reply.ids);
        computed
    }
}

#[test]
fn a_turn_computes_what_is_new() {
    let generator = Setup { context: 800, ahead: 4, ..setup(20, 3) }.generator();
    let mut chat = Chat { text: Vec::new(), seed: 0 };
    let mut ends = Vec::new();
    for turn in 0..10 {
        // The token drawn last was never fed.
        let new = if turn == 0 { 30 } else { 31 };
        check(chat.turn(&generator), new, &format!("turn {turn}"));
        ends.push(chat.text.len());
    }
    // The seventh message is another one: it goes on from the end of the sixth reply.
    chat.text.truncate(ends[5]);
    chat.seed = 5000;
    check(chat.turn(&generator), 31, "another message");
    // Within the sixth message, whose rows are all there: the checkpoints around it keep them.
    chat.text.truncate(ends[4] + 10);
    check(chat.turn(&generator), 30, "within a message");
}

#[test]
fn conversations_in_turns_keep_their_places() {
    // One sequence, with three checkpoints for each of 16 conversations.
    let setup = Setup { context: 2000, cache: 16 * 500, sequences: 1, checkpoints: 47, ..setup(20, 0) };
    let generator = setup.generator();
    let mut chats: Vec<Chat> = (0..16).map(|i| Chat { text: Vec::new(), seed: i }).collect();
    for turn in 0..6 {
        for (i, chat) in chats.iter_mut().enumerate() {
            check(chat.turn(&generator), if turn == 0 { 30 } else { 31 }, &format!("turn {turn} of {i}"));
        }
    }
}

#[test]
fn a_turn_after_a_stop_text_computes_what_is_new() {
    for ahead in 0..=4 {
        let generator = Setup { ahead, ..setup(20, 0) }.generator();
        for seed in 0..20 {
            let prompt = text(60 + seed as usize, seed);
            let mut request = Request::new(seed, &prompt).stop("a");
            request.max_tokens = Some(40);
            let reply = generator.generate_ids(&prompt, &request.options()).unwrap();
            let turn = [&prompt[..], &reply.ids, &text(5, 77)].concat();
            assert_eq!(cached(&generator, &turn), prompt.len() + reply.ids.len() - 1, "{ahead} ahead, seed {seed}");
        }
    }
}

#[test]
fn without_checkpoints_every_text_is_computed_anew() {
    let generator = Setup { checkpoints: 0, ..setup(20, 0) }.generator();
    let prompt = text(100, 1);
    assert_eq!([0; 3].map(|_: usize| cached(&generator, &prompt)), [0; 3]);
}

/// Requests of all kinds at once, in little memory, have the tokens of runs of their own.
#[test]
fn requests_that_compete_have_the_tokens_of_cold_runs() {
    for seed in 0..24 {
        let mut rng = Rng(seed);
        let size = rng.one_of(&[1, 3, 9, 40]);
        let mut setup = setup(size, rng.one_of(&[0, 0, 2, 7]));
        setup = Setup { page: rng.one_of(&[1, 4, 16]), sequences: rng.one_of(&[1, 2, 3]), ..setup };
        setup = Setup { cache: rng.one_of(&[0, 400, 600]), ahead: rng.below(5), ..setup };
        setup.checkpoints = rng.one_of(&[0, 1, 8]);
        let generator = setup.generator();
        let cold = Setup { prefix: false, ahead: 0, sequences: 1, cache: 0, ..setup.clone() }.generator();
        let mut texts = vec![text(60, seed)];
        for _ in 0..8 {
            let requests: Vec<Request> = (0..1 + rng.below(3))
                .map(|_| {
                    let old = &texts[rng.below(texts.len())];
                    let parts = 1 + rng.below(old.len());
                    let prompt = [&old[..parts.min(200)], &text(1 + rng.below(60), rng.below(4) as u64)].concat();
                    Request::new(rng.below(3) as u64, &prompt).tokens(1 + rng.below(30) as u64)
                })
                .collect();
            let mut streams: Vec<_> = requests.iter().map(|request| request.stream(&generator)).collect();
            for (request, stream) in requests.iter().zip(&mut streams) {
                let found = stream.rest().ids;
                let wanted = cold.generate_ids(&request.prompt, &request.options()).unwrap().ids;
                assert_eq!(found, wanted, "seed {seed}, {setup:?}");
                texts.push([&request.prompt[..], &found].concat());
            }
        }
        assert_eq!(generator.metrics().held_pages, 0);
    }
}

#[test]
fn steps_of_benchmarks_go_back_to_their_depth() {
    for window in [None, Some(Window { size: 20, first: 3 })] {
        for ahead in [0, 1, 3] {
            let generator = Setup { ahead, window, sequences: 2, ..setup(1, 0) }.generator_with(Options::default());
            let mut steps = generator.steps(2, 390).unwrap();
            steps.prompt(150).unwrap();
            let mut draw = |depth: usize| {
                steps.truncate(depth).unwrap();
                (0..40).map(|_| steps.decode().map(|_| steps.drawn().to_vec()).unwrap()).collect::<Vec<_>>()
            };
            let first = draw(150);
            assert_eq!(first, draw(150), "window {window:?}");
            let shallow = draw(100);
            assert!(shallow == draw(100) && shallow != first, "window {window:?}");
        }
    }
}
