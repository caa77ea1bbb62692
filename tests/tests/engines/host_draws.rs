//! Engines that leave draws to the host have the ids, the texts, the counts and the bits of log-probabilities of an engine that
//! draws.

use inkstone::compute::conformance::{Delayed, Stepwise};
use inkstone::compute::{Engine, EngineOptions, Kernel, Pattern, Result, Tiling, Work};
use inkstone::tensor::fnv1a;
use inkstone::tensor::ops::Sample;
use inkstone::tensor::sampling::{ChainRef, Workspace};
use inkstone::tensor::step::record::Record;
use inkstone::tensor::step::{ROWS, Row, StepError, rows};
use inkstone::{Model, ModelOptions, Options, Reply, Request};
use inkstone_engine_cpu::{Cpu, Entry, Tile};
use inkstone_tests::Subject;
use std::sync::Arc;

/// The CPU engine that refuses about one of two chains.
struct Choosy(Cpu);

impl Engine for Choosy {
    inkstone::compute::pass_on! { 0: caps registry alloc alloc_all weight_bytes warm load prepare queue gauge }

    fn draws(&self, chain: ChainRef) -> bool {
        fnv1a(chain.to_string().bytes()).is_multiple_of(2)
    }
}

/// Leaves about one of three draws to the host.
fn undecided(tile: &mut Tile) -> Result<(), StepError> {
    let (derived, history) = (tile.ins[1].all::<u32>(), tile.ins[2].all::<u32>());
    assert_eq!(derived.len() % ROWS.cols, 0);
    for r in tile.outs[0].rows.clone() {
        let row: Row = rows(derived).nth(tile.step.logits[r].row as usize).expect("a row");
        let record = match Sample.sampler(tile.step, row) {
            Ok(sampler) => {
                let draw = sampler.draw_after(row.position as usize);
                match fnv1a(format!("{} {}", draw.seed, draw.index).bytes()) % 3 {
                    0 => Record::Host,
                    _ => Sample.draw(
                        &mut Workspace::new(),
                        &mut Vec::new(),
                        tile.step,
                        tile.ins[0].row(r),
                        row,
                        &sampler,
                        history,
                    ),
                }
            }
            Err(record) => record,
        };
        tile.outs[0].row::<u32>(r)[0] = record.encode();
    }
    Ok(())
}

fn with_undecided(options: &EngineOptions) -> EngineOptions {
    let kernel = Kernel::by_definition("undecided", Pattern::Named("sample"), Arc::new(undecided as Entry));
    options.clone().with_kernel(Kernel { work: |_| Work::of(Tiling { row_block: 1, ..Tiling::WHOLE }), ..kernel })
}

/// An engine that leaves draws to the host.
type Make = fn(&EngineOptions) -> Result<Arc<dyn Engine>>;

const LEAVING: [(&str, Make); 4] = [
    ("refuses chains", |options| Ok(Arc::new(Choosy(Cpu::new(options)?)))),
    ("leaves draws", |options| Ok(Arc::new(Cpu::new(&with_undecided(options))?))),
    ("without sample", |options| Ok(Arc::new(Cpu::new(&options.clone().without_kernel("sample"))?))),
    ("without score", |options| Ok(Arc::new(Cpu::new(&options.clone().without_kernel("score"))?))),
];

fn told(replies: &inkstone::Result<Vec<Reply>>) -> String {
    let reply = |r: &Reply| {
        let top = |s: &inkstone::TokenScore| s.top.iter().map(|t| (t.0, t.1.to_bits())).collect::<Vec<_>>();
        let bits = |s: &inkstone::TokenScore| (s.id, s.logprob.to_bits(), top(s));
        let scores: Vec<_> = r.logprobs.iter().map(bits).collect();
        let usage = (r.usage.prompt_tokens, r.usage.completion_tokens);
        format!("{:?} {:?} {} {usage:?} {:?} {scores:?}", r.ids, r.text, r.finish, r.score.map(f64::to_bits))
    };
    match replies {
        Ok(replies) => replies.iter().map(reply).collect::<Vec<_>>().join("\n"),
        Err(error) => error.to_string(),
    }
}

fn requests(subject: &Subject) -> Vec<Request> {
    let o = Options::default().max_tokens(10).ignore_end(true);
    let options = [
        o.clone().temperature(0.0).logprobs(3),
        o.clone().seed(1).logprobs(1),
        o.clone().seed(2).temperature(0.9).top_k(20).top_p(0.9),
        o.clone().seed(3).repeat_penalty(1.3).frequency_penalty(0.2).logprobs(5),
        o.clone().seed(4).no_repeat_ngram(2).presence_penalty(0.5),
        o.clone().seed(5).n(3).min_p(0.05),
        o.num_beams(3),
    ];
    let of = |(i, options): (usize, &Options)| Request::new(subject.ids[..5 + 9 * (i % 3)].to_vec(), options.clone());
    options.iter().enumerate().map(of).collect()
}

#[test]
fn the_replies_are_those_of_an_engine_that_draws() {
    for subject in [Subject::arch("llama"), Subject::story_q8_0()] {
        let requests = requests(&subject);
        let options = ModelOptions::default().ctx(64).sequences(12).chunk(7);
        let replies = |model: &Model| model.generate_batch(&requests).iter().map(told).collect::<Vec<_>>();
        let wanted = replies(&subject.open("cpu", "f16", &options));
        for (name, make) in LEAVING {
            for ahead in 1..=4 {
                let engine = format!("{name}, {ahead} steps under way");
                let factory = move |options: &EngineOptions| Ok(Arc::new(Delayed::new(make(options)?, ahead, 7)) as _);
                inkstone::engines::register(engine.as_str(), Arc::new(factory));
                let model = subject.open(&engine, "f16", &options);
                // The prompts are asked again, too.
                (0..2).for_each(|_| assert_eq!(replies(&model), wanted, "{}: {engine}", subject.name));
                let metrics = model.metrics();
                assert!(metrics.host_draws > 20 && metrics.held_pages == 0, "{engine}: {metrics:?}");
            }
        }
    }
}

#[test]
fn a_report_tells_which_plans_are_missing() {
    for (missing, note) in [("without sample", "select "), ("without score", "select+scored")] {
        let (_, make) = LEAVING.into_iter().find(|(name, _)| *name == missing).unwrap();
        inkstone::engines::register(missing, Arc::new(make));
        let model = Subject::arch("llama").open(missing, "f16", &ModelOptions::default());
        let explained = model.explain(inkstone::Phase::Decode(1)).unwrap();
        let report = explained.whole_report.to_string();
        assert!(report.lines().any(|l| l.contains("left out, the host does its work") && l.contains(note)), "{report}");
        assert_eq!(explained.steps.iter().any(|step| step.op == "sample"), missing == "without score");
    }
}

#[test]
fn an_engine_under_observation_leaves_draws_to_the_host() {
    let factory =
        |options: &EngineOptions| Ok(Arc::new(Stepwise::new(Arc::new(Cpu::new(&with_undecided(options))?))?) as _);
    inkstone::engines::register("undecided, observed", Arc::new(factory));
    let subject = Subject::arch("llama");
    let model = subject.open("undecided, observed", "f16", &ModelOptions::default().ctx(64));
    let options = Options::default().seed(1).max_tokens(9).ignore_end(true).logprobs(2);
    let reply = model.generate_ids(&subject.ids[..9], &options).unwrap();
    let wanted = subject.open("cpu", "f16", &ModelOptions::default().ctx(64)).generate_ids(&subject.ids[..9], &options);
    assert_eq!(told(&Ok(vec![reply])), told(&wanted.map(|reply| vec![reply])));
    assert!(model.metrics().host_draws > 0);
}
