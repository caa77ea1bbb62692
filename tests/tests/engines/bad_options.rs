//! Options that can't be, and what sampling and stops make of extremes: section E of the bad inputs, through the
//! library.

use inkstone::generate::{MAX_STOP_BYTES, MAX_STOPS};
use inkstone::tensor::ops::Window;
use inkstone::{ErrorKind, FinishReason, Limit, Model, ModelOptions, Options};
use inkstone_tests::tiny::{BOS, EOS, Tiny};
use inkstone_tests::{assets, on_engines};

fn greedy() -> Options {
    Options::default().temperature(0.0)
}

/// The message that refuses a request, the same at every entry point; the option is at fault.
#[track_caller]
fn refused(model: &Model, options: &Options) -> String {
    let error = model.generate_ids(&[BOS], options).unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
    let again = model.stream("a", options).map(|_| ()).unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    error.to_string()
}

fn e01_numbers_out_of_range_are_refused_with_value_and_range(engine: &str) {
    let model = Tiny::random().open_on(engine).unwrap();
    let o = Options::default;
    let finite = "allowed is a finite number, 0 or above";
    let part = "allowed is above 0 and at most 1";
    let cases = [
        (o().temperature(-1.0), format!("temperature is -1, {finite}")),
        (o().temperature(f64::NAN), format!("temperature is NaN, {finite}")),
        (o().temperature(f64::INFINITY), format!("temperature is inf, {finite}")),
        (o().top_p(2.0), format!("top-p is 2, {part}")),
        (o().top_p(0.0), format!("top-p is 0, {part}")),
        (o().typical_p(f64::NAN), format!("typical-p is NaN, {part}")),
        (o().min_p(1.5), "min-p is 1.5, allowed is from 0 to 1".to_owned()),
        (o().min_p(-0.5), "min-p is -0.5, allowed is from 0 to 1".to_owned()),
        (o().repeat_penalty(0.0), "repetition penalty is 0, allowed is a finite number above 0".to_owned()),
        (o().frequency_penalty(f64::NAN), "frequency penalty is NaN, allowed is a finite number".to_owned()),
        (o().presence_penalty(f64::INFINITY), "presence penalty is inf, allowed is a finite number".to_owned()),
        (o().logprobs(21), "option logprobs is 21, allowed: 0 to 20".to_owned()),
        (o().logprobs(u32::MAX), "option logprobs is 4294967295, allowed: 0 to 20".to_owned()),
    ];
    for (options, message) in cases {
        assert_eq!(refused(&model, &options), message);
    }
}

fn e01_the_neutral_and_the_largest_values_are_taken(engine: &str) {
    let model = Tiny::random().open_on(engine).unwrap();
    let o = || Options::default().max_tokens(4).seed(3);
    let plain = model.generate_ids(&[BOS], &o()).unwrap().ids;
    let off = o().top_k(0).top_p(1.0).typical_p(1.0).min_p(0.0).repeat_penalty(1.0).no_repeat_ngram(0);
    let off = off.frequency_penalty(0.0).presence_penalty(0.0).repeat_last_n(0);
    assert_eq!(model.generate_ids(&[BOS], &off).unwrap().ids, plain);
    let large = [
        o().top_k(u32::MAX),
        o().temperature(f64::MAX),
        o().temperature(f64::MIN_POSITIVE),
        o().repeat_penalty(f64::MAX),
        o().no_repeat_ngram(u32::MAX),
        o().repeat_last_n(u32::MAX).repeat_penalty(1.5),
        o().seed(u64::MAX).logprobs(20),
    ];
    for options in large {
        assert!(!model.generate_ids(&[BOS], &options).unwrap().ids.is_empty(), "{options:?}");
    }
    let mut late = o().unlimited();
    late.min_tokens = u32::MAX;
    assert_eq!(model.generate_ids(&[BOS], &late).unwrap().finish, FinishReason::Context);
}

fn e01_limits_of_none_and_of_very_many_tokens(engine: &str) {
    let model = Tiny::random().open_on(engine).unwrap();
    let none = model.generate_ids(&[BOS], &greedy().max_tokens(0)).unwrap();
    assert_eq!((none.ids.len(), none.text.as_str(), none.finish), (0, "", FinishReason::Length));
    let mut endless = greedy();
    endless.ignore_end = true;
    let room = model.config().context - 1;
    for limit in [Limit::Tokens(1_000_000_000_000), Limit::Tokens(u64::MAX), Limit::None] {
        let mut options = endless.clone();
        options.max_tokens = Some(limit);
        let reply = model.generate_ids(&[BOS], &options).unwrap();
        assert_eq!((reply.ids.len(), reply.finish), (room, FinishReason::Context));
    }
}

fn e01_options_of_the_model_are_checked(engine: &str) {
    let open = |o: ModelOptions| Tiny::random().open_with(&o).map(|_| ()).unwrap_err();
    let o = || ModelOptions::default().engine(engine);
    for (options, message) in [
        (o().threads(1_000_000), "option threads is 1000000, allowed: 1 to 1024, or none for all cores"),
        (o().ctx(0), "option ctx is 0, allowed: 1 to 1073741824"),
    ] {
        let error = open(options);
        assert_eq!(error.to_string(), message);
        assert!(error.is_usage());
    }
    let error = Model::open_with("model.gguf", &o().ctx(0)).map(|_| ()).unwrap_err();
    assert!(error.is_usage(), "the option is looked at before the file: {error}");
    let error = Model::embedded(&ModelOptions::default().engine("abacus")).map(|_| ()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("abacus"), "{error}");
    for options in [o().sequences(0), o().sequences(usize::MAX), o().chunk(usize::MAX), o().threads(0)] {
        let model = Tiny::random().open_with(&options).unwrap();
        assert_eq!(model.generate_ids(&[BOS], &greedy().max_tokens(1)).unwrap().ids.len(), 1);
    }
}

fn e01_a_context_of_one_token_has_room_for_a_prompt_of_one(engine: &str) {
    let model = Tiny::random().open_with(&ModelOptions::default().engine(engine).ctx(1)).unwrap();
    let reply = model.generate_ids(&[BOS], &greedy()).unwrap();
    assert_eq!((reply.ids.len(), reply.finish), (0, FinishReason::Context));
    assert_eq!(model.logits(&[BOS], None).unwrap().len(), Tiny::random().vocab);
    let error = model.generate_ids(&[BOS, 3], &greedy()).unwrap_err();
    assert_eq!(error.to_string(), "the prompt has 2 tokens, the context holds 1");
}

fn e01_deadlines_and_chunks_of_nothing(engine: &str) {
    let model = Tiny::random().open_on(engine).unwrap();
    let reply = model.generate_ids(&[BOS], &greedy().deadline(std::time::Duration::ZERO)).unwrap();
    assert_eq!((reply.ids.len(), reply.finish), (0, FinishReason::Deadline));
    let never = greedy().max_tokens(1).deadline(std::time::Duration::MAX);
    assert_eq!(model.generate_ids(&[BOS], &never).unwrap().finish, FinishReason::Length);
    let error = model.logits(&[BOS], Some(0)).unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert_eq!(error.to_string(), "option chunk is 0, allowed: at least 1");
}

fn e03_a_prompt_longer_than_the_context_is_refused_and_never_cut(engine: &str) {
    let model = Tiny::random().open_with(&ModelOptions::default().engine(engine).ctx(40)).unwrap();
    for tokens in [41, 64, 100_000] {
        let prompt = vec![5; tokens];
        let message = format!("the prompt has {tokens} tokens, the context holds 40");
        assert_eq!(model.generate_ids(&prompt, &greedy()).unwrap_err().to_string(), message);
        assert_eq!(model.logits(&prompt, None).unwrap_err().to_string(), message);
    }
    // A text far beyond the context is refused before it is cut into tokens.
    let error = model.generate(&"a".repeat(1 << 24), &greedy()).unwrap_err().to_string();
    assert!(error.contains("16777216") && error.contains("2560"), "{error}");
    for (prompt, message) in [
        (vec![], "the prompt has no tokens"),
        (vec![5, 29], "token 29 at place 1 of the prompt, the vocabulary has 29"),
    ] {
        assert_eq!(model.generate_ids(&prompt, &greedy()).unwrap_err().to_string(), message);
        assert_eq!(model.logits(&prompt, None).unwrap_err().to_string(), message);
    }
}

fn e03_a_prompt_that_leaves_too_little_room_ends_with_the_context(engine: &str) {
    let model = Tiny::random().open_with(&ModelOptions::default().engine(engine).ctx(40)).unwrap();
    let mut options = greedy();
    options.ignore_end = true;
    for prompt in [1, 31, 32, 33, 39, 40] {
        let room = 40 - prompt;
        for limit in [room, room + 1, 1000] {
            let reply = model.generate_ids(&vec![5; prompt], &options.clone().max_tokens(limit as u64)).unwrap();
            let finish = if limit == room { FinishReason::Length } else { FinishReason::Context };
            assert_eq!((reply.ids.len(), reply.finish), (room, finish), "{prompt} and {limit} tokens");
        }
    }
}

/// What a model that gives these logits draws first.
fn first(engine: &str, logits: &[f32], options: &Options) -> Result<u32, String> {
    let model = Tiny::with_logits(logits).open_on(engine).unwrap();
    let mut options = options.clone().max_tokens(2);
    options.ignore_end = true;
    model.generate_ids(&[BOS], &options).map(|r| r.ids[0]).map_err(|e| e.to_string())
}

fn biased(list: &[(u32, f32)]) -> Options {
    let mut options = Options::default().seed(5);
    options.logit_bias = list.to_vec();
    options
}

fn e04_logits_that_are_all_minus_infinity_leave_no_token(engine: &str) {
    let none = "no token is left at token 0: logits took the last one";
    for options in [Options::default(), greedy(), Options::default().top_k(3).top_p(0.5).logprobs(3)] {
        assert_eq!(first(engine, &[f32::NEG_INFINITY; 6], &options).unwrap_err(), none);
    }
}

fn e04_equal_logits_are_a_tie_of_lower_ids(engine: &str) {
    assert_eq!(first(engine, &[1.5; 6], &greedy()), Ok(0));
    assert_eq!(first(engine, &[1.0, 1.5, 0.0, 1.5, 1.5], &greedy()), Ok(1));
    assert_eq!(first(engine, &[0.0; 6], &Options::default().top_k(1).seed(9)), Ok(0));
}

fn e04_one_nan_is_an_error(engine: &str) {
    let mut logits = [0.0; 6];
    logits[4] = f32::NAN;
    for options in [Options::default(), greedy(), Options::default().top_k(1), biased(&[(4, f32::NEG_INFINITY)])] {
        assert_eq!(first(engine, &logits, &options).unwrap_err(), "logits are NaN at token 0");
    }
}

fn e04_a_bias_that_bans_everything_names_the_stage_and_the_token(engine: &str) {
    let all: Vec<(u32, f32)> = (0..6).map(|id| (id, f32::NEG_INFINITY)).collect();
    let message = "no token is left at token 0: logit bias took the last one";
    assert_eq!(first(engine, &[0.0; 6], &biased(&all)).unwrap_err(), message);
    assert_eq!(first(engine, &[0.0; 6], &biased(&all[1..])), Ok(0));
    let mut banned = Options::default();
    banned.banned = (0..6).collect();
    let message = "no token is left at token 0: banned tokens took the last one";
    assert_eq!(first(engine, &[0.0; 6], &banned).unwrap_err(), message);
}

fn e04_an_empty_set_ends_where_it_comes_up_and_keeps_the_text(engine: &str) {
    let pieces = ["a", "b", "c"];
    let model = Tiny::saying(&pieces).open_on(engine).unwrap();
    // No 1-gram twice: after every token was written, none is left.
    let mut options = greedy().no_repeat_ngram(1);
    options.ignore_end = true;
    let mut stream = model.stream_ids(&[BOS], &options).unwrap();
    let error = stream.find_map(Result::err).unwrap();
    assert_eq!(error.to_string(), "no token is left at token 5: no-repeat n-gram took the last one");
    assert_eq!((&stream.ids()[..4], stream.finish()), (&[3, 4, 5, EOS][..], Some(FinishReason::Error)));
}

fn e04_infinite_biases_share_everything_and_ties_go_to_the_lower_id(engine: &str) {
    let two = [(4, f32::INFINITY), (2, f32::INFINITY)];
    let mut options = biased(&two);
    options.temperature = Some(0.0);
    assert_eq!(first(engine, &[0.0; 6], &options), Ok(2));
    let drawn: Vec<u32> = (0..40).map(|seed| first(engine, &[0.0; 6], &biased(&two).seed(seed)).unwrap()).collect();
    assert!(drawn.contains(&2) && drawn.contains(&4) && drawn.iter().all(|id| [2, 4].contains(id)), "{drawn:?}");
}

fn e04_tokens_outside_of_the_vocabulary_are_refused(engine: &str) {
    let model = Tiny::random().open_on(engine).unwrap();
    let names = |stage: &str, token: u32| format!("{stage} names token {token}, but the vocabulary has 29 tokens");
    for token in [29, u32::MAX] {
        assert_eq!(refused(&model, &biased(&[(0, 1.0), (token, 1.0)])), names("logit bias", token));
        let mut banned = Options::default();
        banned.banned = vec![token];
        assert_eq!(refused(&model, &banned), names("banned tokens", token));
        let message = format!("option stop_ids is {token}, allowed: ids below 29, the size of the vocabulary");
        assert_eq!(refused(&model, &Options::default().stop_id(token)), message);
    }
    assert!(refused(&model, &biased(&[(0, f32::NAN)])).contains("logit bias is NaN"));
}

fn e04_lists_as_long_as_the_vocabulary_have_room_in_a_step(engine: &str) {
    let model = Model::open_with(assets("story-5m-q8_0.gguf"), &ModelOptions::default().engine(engine)).unwrap();
    let vocab = model.graph().config.vocab as u32;
    let only = 300;
    let ids = || (0..vocab).filter(move |id| *id != only);
    let mut options = greedy().max_tokens(2);
    options.logit_bias = ids().map(|id| (id, -1.0)).collect();
    options.banned = ids().collect();
    options.stop_ids = ids().collect();
    options.min_tokens = 2;
    // As many sequences as there are slots, side by side.
    let streams: Vec<_> = (0..model.config().sequences).map(|_| model.stream_ids(&[BOS], &options).unwrap()).collect();
    for stream in streams {
        let ids: Vec<u32> = stream.flat_map(|piece| piece.unwrap().ids).collect();
        assert_eq!(ids, [only, only]);
    }
    options.logit_bias = (0..4).flat_map(|_| ids()).map(|id| (id, -1.0)).collect();
    let message = refused(&model, &options);
    assert!(
        message.contains("logit_bias") && message.contains(&format!("no longer than the vocabulary of {vocab}")),
        "{message}"
    );
    // And the model is as good as before.
    assert_eq!(model.generate_ids(&[BOS], &greedy().max_tokens(1)).unwrap().ids.len(), 1);
}

fn e05_stop_texts_that_are_empty_or_too_long_are_refused(engine: &str) {
    let model = Tiny::random().open_on(engine).unwrap();
    let bytes = |n: usize| format!("option stop is a text of {n} bytes, allowed: 1 to {MAX_STOP_BYTES} bytes");
    for n in [0, MAX_STOP_BYTES + 1, 1 << 20] {
        assert_eq!(refused(&model, &Options::default().stop("x".repeat(n))), bytes(n));
        assert_eq!(refused(&model, &Options::default().stop("fine").stop("x".repeat(n))), bytes(n));
    }
    let many = (0..=MAX_STOPS).fold(Options::default(), |o, i| o.stop(format!("{i}")));
    assert_eq!(
        refused(&model, &many),
        format!("option stop is {} texts, allowed: at most {MAX_STOPS} texts", MAX_STOPS + 1)
    );
    let most = (0..MAX_STOPS).fold(greedy().max_tokens(1), |o, i| o.stop(format!("{i}").repeat(MAX_STOP_BYTES / 2)));
    model.generate_ids(&[BOS], &most).unwrap();
}

/// What a model that says `pieces` writes with these stop texts, and the tokens that it drew; the same as a reply and as
/// pieces, each of which is whole characters.
fn said(engine: &str, pieces: &[&str], stops: &[&str]) -> (String, FinishReason, usize) {
    let model = Tiny::saying(pieces).open_on(engine).unwrap();
    let options = stops.iter().fold(greedy(), |o, s| o.stop(*s));
    let reply = model.generate_ids(&[BOS], &options).unwrap();
    let mut stream = model.stream_ids(&[BOS], &options).unwrap();
    let text: String = stream.by_ref().map(|p| p.unwrap().text).collect();
    assert_eq!((text, stream.finish(), stream.ids()), (reply.text.clone(), Some(reply.finish), &reply.ids[..]));
    (reply.text, reply.finish, reply.ids.len())
}

fn e05_a_stop_text_is_found_wherever_tokens_begin(engine: &str) {
    use FinishReason::{End, Stop};
    let said_ = |pieces: &[&str], stops: &[&str], text: &str, finish, tokens| {
        assert_eq!(said(engine, pieces, stops), (text.to_owned(), finish, tokens), "{pieces:?} until {stops:?}");
    };
    said_(&["one", "two", "three"], &["twothr"], "one", Stop, 3);
    said_(&["one", "two", "three"], &["e"], "on", Stop, 1);
    said_(&["one", "two"], &["two2"], "onetwo", End, 3);
    // Equal to the whole output, from the first byte to the last.
    said_(&["one", "two"], &["onetwo"], "", Stop, 2);
    said_(&["one"], &["one"], "", Stop, 1);
    // Inside of a character whose bytes are tokens of their own: the euro sign is E2 82 AC.
    let euro = ["<0xE2>", "<0x82>", "<0xAC>"];
    said_(&["a", euro[0], euro[1], euro[2], "b"], &["€"], "a", Stop, 4);
    said_(&["a", euro[0], euro[1], euro[2], "b"], &["a€b"], "", Stop, 5);
    // Another character with the same beginning (E2 82 AD) is held back, then written whole.
    said_(&["a", euro[0], euro[1], "<0xAD>", "b"], &["€"], "a\u{20ad}b", End, 6);
    // A text that ends inside of a character.
    said_(&["a", euro[0]], &["€"], "a\u{fffd}", End, 3);
}

fn e05_a_stop_text_across_fifty_tokens(engine: &str) {
    let pieces: Vec<String> = (0..60).map(|i| format!("{i:02}")).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let stop = pieces[5..55].concat();
    assert_eq!(said(engine, &pieces, &[&stop]), (pieces[..5].concat(), FinishReason::Stop, 55));
    // All but the last byte of it is held back and comes out in the end.
    let almost = format!("{}x", &stop[..stop.len() - 1]);
    assert_eq!(said(engine, &pieces, &[&almost]), (pieces.concat(), FinishReason::End, 61));
}

fn e05_an_end_in_the_last_token_of_the_limit_is_the_reason(engine: &str) {
    use FinishReason::{End, Length, Stop};
    let model = Tiny::saying(&["one", "two"]).open_on(engine).unwrap();
    let ended = |options: Options| {
        let reply = model.generate_ids(&[BOS], &options).unwrap();
        (reply.text, reply.finish, reply.ids.len())
    };
    let stop = || greedy().stop("two");
    assert_eq!(ended(stop().max_tokens(2)), ("one".to_owned(), Stop, 2));
    assert_eq!(ended(stop().max_tokens(1)), ("one".to_owned(), Length, 1));
    // The end token is the third.
    assert_eq!(ended(greedy().max_tokens(3)), ("onetwo".to_owned(), End, 3));
    assert_eq!(ended(greedy().max_tokens(2)), ("onetwo".to_owned(), Length, 2));
    assert_eq!(ended(greedy().stop_id(4).max_tokens(2)), ("one".to_owned(), End, 2));
}

fn g1_the_size_of_a_page_is_a_power_of_two(engine: &str) {
    let with = |page| Tiny::random().open_with(&ModelOptions::default().engine(engine).kv_page(page));
    for page in [0, 1, 8, 17, 2048, usize::MAX] {
        let error = with(page).unwrap_err();
        assert_eq!(error.to_string(), format!("option kv_page is {page}, allowed: a power of two, 16 to 1024"));
        assert!(error.is_usage());
    }
    let ids = |page| with(page).unwrap().generate_ids(&[BOS], &greedy().max_tokens(40)).unwrap().ids;
    assert_eq!(ids(16), ids(1024));
}

fn g1_the_memory_of_the_cache_holds_a_page_and_is_there(engine: &str) {
    let with = |bytes| Tiny::random().open_with(&ModelOptions::default().engine(engine).kv_memory(bytes));
    // Keys and values of two layers with two heads of 8 in F16, and an id.
    let page = 32 * (2 * 2 * 2 * 8 * 2 + 4);
    for bytes in [0, 1, page - 1, u64::MAX] {
        let error = with(bytes).unwrap_err();
        let wanted = format!("option kv_memory is {bytes}, allowed: {page} (a page of 32 tokens) to ");
        assert!(error.to_string().starts_with(&wanted), "{error}");
        assert!(error.is_usage());
    }
    let model = with(page).unwrap();
    assert_eq!(model.config().context, 32);
    let note = format!("a context of 32 tokens, not 64, because the cache has {page} bytes");
    assert!(model.notes().contains(&note), "{:?}", model.notes());
    let reply = model.generate_ids(&[BOS], &greedy().unlimited()).unwrap();
    assert!(reply.usage.completion_tokens <= 31);
}

fn g1_the_memory_of_the_cache_holds_a_window_and_a_step(engine: &str) {
    let options = ModelOptions::default().engine(engine).kv_page(16).kv_window(Window { size: 24, first: 3 });
    let with = |bytes| Tiny::random().open_with(&options.clone().kv_memory(bytes));
    let error = with(1).unwrap_err().to_string();
    let least = error.split("allowed: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    let again = with(least - 1).unwrap_err();
    assert!(again.is_usage() && again.to_string().starts_with("option kv_memory is "), "{again}");
    let model = with(least).unwrap();
    let reply = model.generate_ids(&[BOS], &greedy().unlimited()).unwrap();
    assert!(!reply.ids.is_empty());
}

on_engines! {
    e01_numbers_out_of_range_are_refused_with_value_and_range
    e01_the_neutral_and_the_largest_values_are_taken
    e01_limits_of_none_and_of_very_many_tokens
    e01_options_of_the_model_are_checked
    e01_a_context_of_one_token_has_room_for_a_prompt_of_one
    e01_deadlines_and_chunks_of_nothing
    g1_the_size_of_a_page_is_a_power_of_two
    g1_the_memory_of_the_cache_holds_a_page_and_is_there
    g1_the_memory_of_the_cache_holds_a_window_and_a_step
    e03_a_prompt_longer_than_the_context_is_refused_and_never_cut
    e03_a_prompt_that_leaves_too_little_room_ends_with_the_context
    e04_logits_that_are_all_minus_infinity_leave_no_token
    e04_equal_logits_are_a_tie_of_lower_ids
    e04_one_nan_is_an_error
    e04_a_bias_that_bans_everything_names_the_stage_and_the_token
    e04_an_empty_set_ends_where_it_comes_up_and_keeps_the_text
    e04_infinite_biases_share_everything_and_ties_go_to_the_lower_id
    e04_tokens_outside_of_the_vocabulary_are_refused
    e04_lists_as_long_as_the_vocabulary_have_room_in_a_step
    e05_stop_texts_that_are_empty_or_too_long_are_refused
    e05_a_stop_text_is_found_wherever_tokens_begin
    e05_a_stop_text_across_fifty_tokens
    e05_an_end_in_the_last_token_of_the_limit_is_the_reason
}
