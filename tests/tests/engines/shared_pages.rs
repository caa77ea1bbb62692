//! Keys and values that are found, copied, given up or restored: a text has the bits of a run that computes everything.

use inkstone::tensor::ops::Window;
use inkstone::{Model, ModelOptions, Options, Reply, Request};
use inkstone_engine_cpu::Set;
use inkstone_tests::{Subject, on_engines, tries_few};

/// A model, and the same model with nothing in its cache.
struct Case {
    subject: Subject,
    format: &'static str,
    /// A window for layers that would see more.
    window: Option<Window>,
    cold: Model,
}

impl Case {
    fn all(engine: &str) -> Vec<Case> {
        let narrow = Some(Window { size: 20, first: 3 });
        let archs =
            [("llama", "f32", None), ("qwen3", "f16", None), ("gemma3-8l", "f32", None), ("llama", "f16", narrow)];
        let archs = archs.map(|(arch, format, window)| (Subject::arch(arch), format, window));
        let mut subjects = Vec::from(archs);
        if engine != "reference" {
            subjects.push((Subject::story_q4_k_m(), "f16", None));
        }
        // On drivers that compute on the CPU it would take long.
        if !["reference", "wgpu"].contains(&engine) {
            // Two windows: most layers see 32 tokens, the others 40.
            subjects.push((Subject::arch("gemma3-8l"), "f16", Some(Window { size: 40, first: 4 })));
        }
        let cold = if engine == "ahead" { "cpu" } else { engine };
        let options = ModelOptions::default().ctx(100).sequences(1).prefix(false).threads(1);
        let case = |(subject, format, window): (Subject, _, _)| {
            let mut options = options.clone();
            options.kv_window = window;
            let cold = subject.open(cold, format, &options);
            Case { subject, format, window, cold }
        };
        subjects.into_iter().map(case).collect()
    }

    fn open(&self, engine: &str, options: &ModelOptions) -> Model {
        let mut options = options.clone();
        options.kv_window = self.window;
        self.subject.open(engine, self.format, &options)
    }

    /// Checks a reply to a prompt.
    #[track_caller]
    fn check(&self, reply: &Reply, prompt: &[u32], options: &Options) {
        let wanted = self.cold.generate_ids(prompt, options).unwrap();
        assert_eq!(bits(reply), bits(&wanted), "{} with {:?}", self.subject.name, reply.usage);
    }
}

/// The tokens of a reply with the bits of their scores.
pub(crate) fn bits(reply: &Reply) -> Vec<(u32, u32)> {
    reply.logprobs.iter().map(|score| (score.id, score.logprob.to_bits())).collect()
}

pub(crate) fn draws(seed: u64, tokens: u64) -> Options {
    Options::default().seed(seed).max_tokens(tokens).ignore_end(true).logprobs(5)
}

fn texts_that_share_pages_have_the_bits_of_cold_runs(engine: &str) {
    for case in Case::all(engine) {
        let ids = &case.subject.ids;
        // They part within a page, at its border, and in the second page.
        let prompts: Vec<Vec<u32>> =
            [1, 15, 16, 17, 33, 39].map(|common| [&ids[..common], &ids[60..64]].concat()).to_vec();
        let opens = [(16, 1), (32, 3)];
        for &(page, threads) in if tries_few(engine) { &opens[..1] } else { &opens } {
            let open = ModelOptions::default().ctx(100).kv_page(page).threads(threads).sequences(4);
            let model = case.open(engine, &open);
            let first = model.generate_ids(&ids[..40], &draws(1, 12)).unwrap();
            case.check(&first, &ids[..40], &draws(1, 12));
            for (i, prompt) in prompts.iter().enumerate() {
                let options = draws(i as u64, 9);
                let reply = model.generate_ids(prompt, &options).unwrap();
                assert!(reply.usage.cached_tokens as usize >= prompt.len() - 4);
                case.check(&reply, prompt, &options);
            }
            // All at once, in a cache that has nothing.
            let model = case.open(engine, &open);
            let requests: Vec<Request> =
                prompts.iter().zip(0..).map(|(prompt, i)| Request::new(&prompt[..], draws(i, 9 + i).n(2))).collect();
            for ((replies, request), i) in model.generate_batch(&requests).into_iter().zip(&prompts).zip(0..) {
                for (reply, seed) in replies.unwrap().iter().zip(i..) {
                    case.check(reply, request, &draws(seed, 9 + i));
                }
            }
            assert!(model.metrics().prefix_cache_hits > 0);
        }
    }
}

fn sessions_and_their_forks_have_the_bits_of_cold_runs(engine: &str) {
    for case in Case::all(engine) {
        let model = case.open(engine, &ModelOptions::default().ctx(100).kv_page(16));
        let mut session = model.session();
        session.append_ids(&case.subject.ids[..25]).unwrap();
        for turn in 0..3 {
            let options = draws(turn, 7);
            let before = session.ids().to_vec();
            let mut fork = session.fork();
            let reply = session.generate(&options).unwrap();
            case.check(&reply, &before, &options);
            assert!(turn == 0 || reply.usage.cached_tokens as usize >= before.len() - 4, "{:?}", reply.usage);
            // The fork goes on in another way, also on a thread of its own.
            fork.append_ids(&case.subject.ids[50 + turn as usize..53]).unwrap();
            let text = fork.ids().to_vec();
            let reply = std::thread::spawn(move || fork.generate(&draws(9, 5)).unwrap()).join().unwrap();
            case.check(&reply, &text, &draws(9, 5));
            session.append_ids(&case.subject.ids[40..43]).unwrap();
        }
        // A text that is taken back, and another one in its place.
        session.truncate(30);
        session.append_ids(&[5, 6]).unwrap();
        let text = session.ids().to_vec();
        case.check(&session.generate(&draws(4, 8)).unwrap(), &text, &draws(4, 8));
    }
}

fn g2_sequences_that_gave_up_their_pages_have_the_bits_of_cold_runs(engine: &str) {
    for case in Case::all(engine) {
        let token = case.cold.graph().kv_bytes_per_token() + 4;
        // Pages for one context and a third.
        let open = ModelOptions::default().ctx(96).kv_page(16).sequences(3).kv_memory(token * 128);
        let model = case.open(engine, &open);
        let prompts: Vec<&[u32]> = (0..5).map(|i| &case.subject.ids[i..i + 10]).collect();
        let requests: Vec<Request> =
            prompts.iter().zip(0..).map(|(prompt, seed)| Request::new(*prompt, draws(seed, 60))).collect();
        for ((replies, prompt), seed) in model.generate_batch(&requests).into_iter().zip(&prompts).zip(0..) {
            case.check(&replies.unwrap()[0], prompt, &draws(seed, 60));
        }
        let metrics = model.metrics();
        assert!(metrics.preemptions > 0, "{metrics:?}");
        assert_eq!(metrics.held_pages, 0);
        let error = model.generate_ids(&[5; 129], &draws(1, 1)).unwrap_err().to_string();
        assert_eq!(error, "the prompt has 129 tokens, the context holds 96");
    }
}

fn restored_sessions_have_the_bits_of_cold_runs(engine: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.session");
    for case in Case::all(engine) {
        let saved = case.open(engine, &ModelOptions::default().ctx(100).kv_page(32).threads(2));
        let mut session = saved.session();
        session.append_ids(&case.subject.ids[..37]).unwrap();
        session.generate(&draws(3, 11)).unwrap();
        session.save(&file, b"").unwrap();
        let text = session.ids().to_vec();
        let sets = Set::ALL.into_iter().filter(|set| set.is_here() && !["reference", "wgpu"].contains(&engine));
        let mut opens: Vec<ModelOptions> = sets.map(|set| ModelOptions::default().isa(set.name())).collect();
        opens.push(ModelOptions::default());
        for (i, open) in opens.into_iter().enumerate() {
            let open = open.ctx(100).kv_page([16, 64, 32][i % 3]).threads(1 + i % 3);
            let model = case.open(engine, &open);
            let (mut session, _) = model.restore(&file).unwrap();
            assert_eq!(session.ids(), text);
            let reply = session.generate(&draws(8, 10)).unwrap();
            assert_eq!(reply.usage.cached_tokens as usize, text.len() - 1, "the last one is computed");
            case.check(&reply, &text, &draws(8, 10));
        }
    }
}

on_engines! { ahead:
    texts_that_share_pages_have_the_bits_of_cold_runs
    sessions_and_their_forks_have_the_bits_of_cold_runs
    g2_sequences_that_gave_up_their_pages_have_the_bits_of_cold_runs
    restored_sessions_have_the_bits_of_cold_runs
}
