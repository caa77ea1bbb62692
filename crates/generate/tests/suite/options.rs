//! The options in force for a request: its own, then the options of the generator, of the file, and the defaults.

use crate::rig::{BOS, EOS, Setup};
use inkstone_generate::{Cancel, Defaults, FinishReason, Limit, Options};
use inkstone_text::Json;
use std::fmt::Debug;
use std::time::Duration;

/// The origin of a value, in the order of precedence.
const LEVELS: [&str; 3] = ["request", "generator", "file"];

/// An option in a set of options.
struct Row {
    name: &'static str,
    /// Sets the value that belongs to a level.
    set: fn(&mut Options, usize),
    get: fn(&Options) -> String,
    /// The value in force if these levels set one.
    wanted: fn(&[usize]) -> String,
}

fn print(value: impl Debug) -> String {
    format!("{value:?}")
}

/// Options whose first value counts: the values of the levels, and the value if there is none.
macro_rules! first {
    ($($name:ident: $values:expr, $default:expr;)+) => {
        vec![$(Row {
            name: stringify!($name),
            set: |o, level| o.$name = Some($values[level].clone()),
            get: |o| print(&o.$name),
            wanted: |set| print(&set.first().map(|level| $values[*level].clone()).or($default)),
        }),+]
    };
}

/// Lists, which are concatenated.
macro_rules! all {
    ($($name:ident: $values:expr;)+) => {
        vec![$(Row {
            name: stringify!($name),
            set: |o, level| o.$name.push($values[level].clone()),
            get: |o| print(&o.$name),
            wanted: |set| print(set.iter().map(|level| $values[*level].clone()).collect::<Vec<_>>()),
        }),+]
    };
}

/// Flags, of which one is sufficient.
macro_rules! any {
    ($($name:ident)+) => {
        vec![$(Row {
            name: stringify!($name),
            set: |o, _| o.$name = true,
            get: |o| print(o.$name),
            wanted: |set| print(!set.is_empty()),
        }),+]
    };
}

fn rows() -> Vec<Row> {
    const LIBRARY: Defaults = Defaults::LIBRARY;
    let mut rows = first! {
        temperature: [0.25, 0.5, 0.75], Some(LIBRARY.temperature);
        top_k: [1u32, 2, 3], Some(LIBRARY.top_k);
        top_p: [0.25, 0.5, 0.75], Some(LIBRARY.top_p);
        typical_p: [0.25, 0.5, 0.75], None;
        min_p: [0.25, 0.5, 0.75], Some(LIBRARY.min_p);
        repeat_penalty: [1.25, 1.5, 1.75], None;
        repeat_last_n: [1u32, 2, 3], None;
        frequency_penalty: [0.25, 0.5, 0.75], None;
        presence_penalty: [0.25, 0.5, 0.75], None;
        no_repeat_ngram: [1u32, 2, 3], None;
        max_tokens: [Limit::Tokens(1), Limit::None, Limit::Tokens(3)], Some(LIBRARY.max_tokens);
        seed: [1u64, 2, 3], None;
        n: [1u32, 2, 3], None;
        num_beams: [1u32, 2, 3], None;
        length_penalty: [0.25, 0.5, 0.75], None;
        early_stopping: [false, true, false], None;
        logprobs: [1u32, 2, 3], None;
        bos: [false, true, false], None;
        deadline: [1, 2, 3].map(Duration::from_secs), None;
        cache_salt: ["a", "b", "c"].map(str::to_owned), None;
    };
    rows.extend(all! {
        logit_bias: [(1u32, 1f32), (2, 2.0), (3, 3.0)];
        banned: [1u32, 2, 3];
        stop: ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        stop_ids: [1u32, 2, 3];
        template_vars: ["a", "b", "c"].map(|name| (name.to_owned(), Json::from(1)));
    });
    rows.extend(any! { ignore_end special });
    rows.push(Row {
        name: "min_tokens",
        set: |o, level| o.min_tokens = [2, 3, 1][level],
        get: |o| print(o.min_tokens),
        // The largest number, so that no level shortens the texts of another one.
        wanted: |set| print(set.iter().map(|level| [2, 3, 1][*level]).max().unwrap_or(0)),
    });
    rows.push(Row {
        name: "cancel",
        set: |o, level| {
            let cancel = Cancel::new();
            if level == 1 {
                cancel.cancel();
            }
            o.cancel = Some(cancel);
        },
        get: |o| print(o.cancel.as_ref().map(Cancel::is_cancelled)),
        wanted: |set| print(set.first().map(|level| *level == 1)),
    });
    rows
}

#[test]
fn each_option_comes_from_the_first_level_that_sets_it() {
    for row in rows() {
        for set in 0..1 << LEVELS.len() {
            let set: Vec<usize> = (0..LEVELS.len()).filter(|level| set >> level & 1 == 1).collect();
            let [request, own, file] = [0, 1, 2].map(|level| {
                let mut options = Options::default();
                if set.contains(&level) {
                    (row.set)(&mut options, level);
                }
                options
            });
            let generator = Setup { file, ..Setup::default() }.generator_with(own);
            let by = set.iter().map(|level| LEVELS[*level]).collect::<Vec<_>>().join(", ");
            let found = (row.get)(&generator.resolve(&request));
            assert_eq!(found, (row.wanted)(&set), "{}, which is set by: {by}", row.name);
        }
    }
}

#[test]
fn an_option_changes_no_other_option() {
    let generator = Setup::default().generator();
    let untouched = generator.resolve(&Options::default());
    for row in rows() {
        let mut request = Options::default();
        (row.set)(&mut request, 0);
        let resolved = generator.resolve(&request);
        for other in rows().iter().filter(|other| other.name != row.name) {
            assert_eq!((other.get)(&resolved), (other.get)(&untouched), "{} sets {}", row.name, other.name);
        }
    }
}

#[test]
fn every_option_has_a_row() {
    // Lines of the printed form with one level of indentation name the fields.
    let printed = format!("{:#?}", Options::default());
    let fields = printed.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(": "));
    let mut names: Vec<&str> = fields.map(|(name, _)| name).filter(|name| !name.starts_with([' ', '}'])).collect();
    // It has no value that means "not set", and only chats use it.
    names.retain(|name| *name != "template_limits");
    let mut wanted: Vec<&str> = rows().iter().map(|row| row.name).collect();
    names.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
}

#[test]
fn options_of_the_generator_and_the_file_reach_the_draws() {
    let first_end = |file: Options, own: Options, request: Options| {
        let setup = Setup { samples: true, file, ..Setup::default() };
        let reply = setup.generator_with(own).generate_ids(&[BOS, 3], &request.max_tokens(9)).unwrap();
        (reply.ids.iter().position(|id| *id == EOS), reply.finish)
    };
    let none = Options::default;
    // The end token is by far the most probable token.
    let end = || none().temperature(0.0).logit_bias(EOS, 1000.0);
    assert_eq!(first_end(none(), none(), end()), (Some(0), FinishReason::End));
    assert_eq!(first_end(none(), end(), none()), (Some(0), FinishReason::End));
    assert_eq!(first_end(end(), none(), none()), (Some(0), FinishReason::End));
    assert_eq!(first_end(none(), end().min_tokens(3), none()), (Some(3), FinishReason::End));
    assert_eq!(first_end(none(), end().min_tokens(3), none().min_tokens(2)), (Some(3), FinishReason::End));
    assert_eq!(first_end(none(), end(), none().min_tokens(2)), (Some(2), FinishReason::End));
    assert_eq!(first_end(end().min_tokens(4), none(), none()), (Some(4), FinishReason::End));
    assert_eq!(first_end(none(), end(), none().ban([EOS])), (None, FinishReason::Length));
    assert_eq!(first_end(none(), none().ignore_end(true), end()), (Some(0), FinishReason::Length));
}

#[test]
fn options_of_the_generator_reach_the_tokenizer() {
    let tokens = |own: Options, text: &str, request: Options| {
        let generator = Setup::default().generator_with(own);
        let reply = generator.generate(text, &request.clone().max_tokens(0)).unwrap();
        assert_eq!(reply.usage.prompt_tokens as usize, generator.encode(text, &request).unwrap().len());
        generator.encode(text, &request).unwrap()
    };
    let none = Options::default;
    let plain = tokens(none(), "ab</s>", none());
    assert_eq!((plain[0], plain.contains(&EOS)), (BOS, false), "{plain:?}");
    assert_eq!(tokens(none().bos(false), "ab</s>", none()), plain[1..]);
    assert_eq!(tokens(none().bos(false), "ab</s>", none().bos(true)), plain);
    assert_eq!(tokens(none().special(true), "ab</s>", none()).last(), Some(&EOS));
}

#[test]
fn a_seed_that_nobody_sets_is_drawn_and_the_reply_names_it() {
    let generator = Setup::default().generator();
    let free = Options::default().ignore_end(true).max_tokens(12);
    let replies = [0, 1].map(|_| generator.generate_ids(&[BOS], &free).unwrap());
    assert_ne!(replies[0].seed, replies[1].seed);
    for reply in replies {
        let again = generator.generate_ids(&[BOS], &free.clone().seed(reply.seed)).unwrap();
        assert_eq!((again.ids, again.seed), (reply.ids, reply.seed));
    }
}
