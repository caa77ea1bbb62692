//! A compiled plan means what its graph means: the engine's logits are those of the graphs, interpreted node by node,
//! bit for bit, over steps that mix prompts and decodes.

use inkstone::compute::Port;
use inkstone::graph::{Graph, Kind, Source, Wants};
use inkstone::tensor::ops::HISTORY;
use inkstone::tensor::step::{LogitWish, SeqStep, StepBuffer, StepView, carry};
use inkstone::tensor::{Array, Dim, Sizes, Slots, Type};
use inkstone::{Model, ModelOptions};
use inkstone_tests::{Subject, assert_same_bits};
use std::collections::HashMap;

const PAGE: usize = 4;
const SLOTS: usize = 64 * PAGE;

/// Graphs run by their meaning, with all values by name.
struct Eager<'m> {
    model: &'m Model,
    values: HashMap<Source, Array>,
}

impl Eager<'_> {
    fn run(&mut self, graph: &Graph, step: &StepView) {
        let sizes = Sizes { slots: Slots::one_group(SLOTS), ..Sizes::default() };
        let types: HashMap<&Source, Type> = graph.inputs().map(|(s, v)| (s, graph.body().ty(v))).collect();
        let values = &mut self.values;
        let results = graph.interpret(step, |source| match source {
            Source::State(_) => values.remove(source).unwrap_or_else(|| {
                let ty = types[source];
                Array::of(&ty, &sizes).unwrap()
            }),
            Source::Weight(name) => {
                let ty = types[source];
                let Dim::N(rows) = ty.rows else { panic!("{name} has {ty}") };
                Array::shared(ty.dtype, rows, ty.cols, self.model.graph().weights.bytes(name).unwrap()).unwrap()
            }
            port => values[port].clone(),
        });
        let outputs: Vec<Source> = graph.outputs().map(|(s, _)| s.clone()).collect();
        self.values.extend(outputs.into_iter().zip(results.unwrap()));
    }
}

#[test]
fn a_plan_equals_its_graph() {
    for subject in ["llama", "llama-tied", "llama-yarn"].map(Subject::arch) {
        let model = subject.open("reference", "f32", &ModelOptions::default());
        let (name, ids) = (subject.name, &subject.ids);
        let graph = model.graph().clone();
        let mut eager = Eager { model: &model, values: HashMap::new() };

        // Two sequences with pages in odd order; tokens fed a step, by sequence.
        let tables: [Vec<u32>; 2] = [(0..16).rev().collect(), (20..36).collect()];
        let parts = [ids[..40].to_vec(), ids[30..55].to_vec()];
        let mut fed = [0, 0];
        let mut found: [Vec<f32>; 2] = [Vec::new(), Vec::new()];
        for rows in [[7, 0], [3, 5], [1, 1], [0, 9], [20, 1], [9, 9]] {
            let mut step = StepBuffer::with_capacity(PAGE, 64, 64, 64);
            for s in 0..2 {
                let tokens = &parts[s][fed[s]..fed[s] + rows[s]];
                let (tables, logits) = (&[&tables[s][..]], LogitWish::All);
                if !tokens.is_empty() {
                    step.push(&SeqStep { slot: 3 * s + 1, tokens, tables, logits, sampler: None });
                }
            }
            let total = step.logits().len();
            let words = step.encode(0, total).to_vec();
            let view = StepView::new(&words).unwrap();
            for kind in Wants::LOGITS.kinds() {
                eager.run(graph.graph(kind).unwrap(), &view);
            }
            let logits = eager.values[&Source::Port(Port::LOGITS)].all::<f32>().to_vec();
            let vocab = logits.len() / total;
            found[0].extend_from_slice(&logits[..rows[0] * vocab]);
            found[1].extend_from_slice(&logits[rows[0] * vocab..]);
            (fed[0], fed[1]) = (fed[0] + rows[0], fed[1] + rows[1]);
        }
        let lengths = &eager.values[&Source::State("carry".into())];
        let length = |slot| lengths.all::<u32>()[carry::word(carry::LENGTH, slot)] as usize;
        assert_eq!([length(1), length(4)], fed);
        for s in 0..2 {
            let engine = model.logits(&parts[s], None).unwrap();
            assert_same_bits(&engine, &found[s], &format!("{name}, sequence {s}"));
        }
    }
}

/// Copies reach all that a model keeps by position, and count for no memory of their own.
#[test]
fn all_paged_states_of_a_model_can_be_copied() {
    let model = Subject::arch("llama").open("reference", "f32", &ModelOptions::default());
    let graph = model.graph();
    let copied: Vec<Source> = graph.graph(Kind::COPY).unwrap().inputs().map(|(s, _)| s.clone()).collect();
    let body = graph.graph(Kind::BODY).unwrap();
    let of_body = body.inputs().map(|(source, v)| (source, body.body().ty(v)));
    let paged: Vec<(&Source, Type)> = of_body.filter(|(_, ty)| matches!(ty.rows, Dim::Slots { .. })).collect();
    assert!(copied.len() > 2 && copied.iter().eq(paged.iter().map(|(source, _)| *source)), "{copied:?}");
    let place = Sizes { slots: Slots::every_group(1), ..Sizes::default() };
    let bytes = paged.iter().filter(|(_, ty)| *ty != HISTORY).map(|(_, ty)| ty.bytes(&place)).sum::<u64>();
    assert_eq!(graph.kv_bytes_per_token(), bytes);
}
