//! The table of docs/caches.md: how many tokens of a prompt are computed, with a model whose layers have windows.

use inkstone::{FinishReason, Model, ModelOptions, Options, Reply, Request};
use inkstone_tests::{Subject, ahead_by, page_holds};
use std::fmt::Write;

/// Of layers of the model: 32 tokens.
const ARCH: &str = "gemma3";

fn open(engine: &str, options: &ModelOptions) -> Model {
    Subject::arch(ARCH).open(engine, "f16", &options.clone().ctx(256).kv_page(16).threads(1))
}

/// Tokens that differ from the first one on for each seed.
fn text(len: usize, seed: u32) -> Vec<u32> {
    (0..len as u32).map(|i| 3 + (seed * 37 + i * (5 + seed % 7)) % 120).collect()
}

fn draws(tokens: u64) -> Options {
    Options::default().seed(1).max_tokens(tokens).ignore_end(true)
}

fn computed(prompt: &[u32], reply: &Reply) -> usize {
    prompt.len() - reply.usage.cached_tokens as usize
}

/// The tokens of a prompt that are computed.
fn ask(model: &Model, prompt: &[u32]) -> usize {
    computed(prompt, &model.generate_ids(prompt, &draws(6)).unwrap())
}

/// Messages and replies.
struct Chat {
    text: Vec<u32>,
    /// The ends of the replies.
    ends: Vec<usize>,
    seed: u32,
}

impl Chat {
    fn new(seed: u32) -> Chat {
        Chat { text: Vec::new(), ends: Vec::new(), seed }
    }

    /// A message of 12 tokens and a reply of 6. Returns the tokens that are computed.
    fn turn(&mut self, model: &Model) -> usize {
        self.seed += 16;
        self.text.extend(text(12, self.seed));
        let reply = model.generate_ids(&self.text, &draws(6)).unwrap();
        let computed = computed(&self.text, &reply);
        self.text.extend(reply.ids);
        self.ends.push(self.text.len());
        computed
    }

    /// Takes back a message and all behind it, but for its first tokens.
    fn back_to(&mut self, message: usize, tokens: usize) {
        self.text.truncate(self.ends[message - 1] + tokens);
        self.ends.truncate(message);
        self.seed += 1600;
    }
}

/// The number, which is the same for all.
#[track_caller]
fn each(computed: impl IntoIterator<Item = usize>) -> String {
    let computed: Vec<usize> = computed.into_iter().collect();
    assert!(computed.iter().all(|n| *n == computed[0]), "{computed:?}");
    computed[0].to_string()
}

fn conversation(row: &mut impl FnMut(&str, String)) {
    let model = open("cpu", &ModelOptions::default());
    let mut chat = Chat::new(0);
    chat.turn(&model);
    row("turns 2 to 10 of a conversation, each with 12 new tokens", each((1..10).map(|_| chat.turn(&model))));
    let mut edited = |message, tokens| {
        chat.back_to(message, tokens);
        chat.turn(&model).to_string()
    };
    row("another seventh message in its place", edited(6, 0));
    row("the sixth message, with other tokens behind its first 5", edited(5, 5));
}

fn conversations_in_turns(row: &mut impl FnMut(&str, String)) {
    let model = open("cpu", &ModelOptions::default().sequences(16).ctx_checkpoints(3));
    let mut chats: Vec<Chat> = (0..16).map(Chat::new).collect();
    let mut computed = Vec::new();
    for turn in 1..=8 {
        for chat in &mut chats {
            let new = chat.turn(&model);
            computed.extend((turn > 1).then_some(new));
        }
    }
    row("turns 2 to 8 of 16 conversations in turns, with 3 checkpoints each", each(computed));
}

fn again(row: &mut impl FnMut(&str, String)) {
    let model = open("cpu", &ModelOptions::default());
    let prompt = text(200, 5);
    row("a prompt of 200 tokens", ask(&model, &prompt).to_string());
    row("the same prompt again", ask(&model, &prompt).to_string());
}

/// With four steps under way when the stop text is found.
fn stop_text(row: &mut impl FnMut(&str, String)) {
    let model = open(&ahead_by(4), &ModelOptions::default());
    let prompt = text(100, 7);
    let whole = open("cpu", &ModelOptions::default()).generate_ids(&prompt, &draws(30)).unwrap();
    let stop: String = whole.text.chars().skip(12).take(2).collect();
    let reply = model.generate_ids(&prompt, &draws(30).stop(&stop)).unwrap();
    assert_eq!(reply.finish, FinishReason::Stop, "{stop:?} in {:?}", whole.text);
    let turn = [&prompt[..], &reply.ids, &text(12, 9)].concat();
    row("12 new tokens after a reply that ended with a stop text", ask(&model, &turn).to_string());
}

fn system_prompt(row: &mut impl FnMut(&str, String)) {
    let prompts: Vec<Vec<u32>> = (0..3).map(|seed| [text(150, 1), text(50, 20 + seed)].concat()).collect();
    let model = open("cpu", &ModelOptions::default());
    let numbers: Vec<String> = prompts.iter().map(|prompt| ask(&model, prompt).to_string()).collect();
    row("three requests with a system prompt of 150 tokens and 50 of their own, in turn", numbers.join(", "));
    let model = open("cpu", &ModelOptions::default());
    let requests: Vec<Request> = prompts.iter().map(|prompt| Request::new(&prompt[..], draws(6))).collect();
    let replies = model.generate_batch(&requests).into_iter().map(|replies| replies.unwrap().remove(0));
    let numbers: Vec<String> =
        prompts.iter().zip(replies).map(|(prompt, reply)| computed(prompt, &reply).to_string()).collect();
    row("the same at once", numbers.join(", "));
}

#[test]
fn the_table_of_computed_tokens_is_what_runs() {
    let mut table = "| request | tokens computed |\n|---|---|\n".to_owned();
    let mut row = |what: &str, computed: String| writeln!(table, "| {what} | {computed} |").unwrap();
    again(&mut row);
    conversation(&mut row);
    conversations_in_turns(&mut row);
    stop_text(&mut row);
    system_prompt(&mut row);
    page_holds("docs/caches.md", "computed", &table);
}
