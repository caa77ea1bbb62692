//! Page copies: the graph is made from the graphs of a model, has one plan for all steps, and copies what the step says.

use crate::common::*;
use inkstone_compute::{Caps, Port};
use inkstone_graph::{Compiled, Error, Graph, Kind, Tracer, Wants, compile, copies};
use inkstone_tensor::step::{LAST, LogitWish, PageCopy, SeqStep, StepBuffer};
use inkstone_tensor::{DType, NoWeights};

fn compiled(graphs: &[(Kind, Graph)]) -> Result<Compiled, Error> {
    compile(graphs, &Caps::made_up("made-up"), &reference(), SLOTS, &[])
}

/// The graphs of the model with page copies.
fn with_copies(weights: &Tensors) -> Vec<(Kind, Graph)> {
    let mut graphs = llama(weights).unwrap();
    graphs.push((Kind::COPY, copies(&graphs).unwrap()));
    graphs
}

#[test]
fn every_paged_state_is_copied_once_in_the_order_of_the_graphs() {
    let graphs = with_copies(&Tensors::llama(DType::Q8_0, true));
    let expected = "\
graph copy
  %0 = state history  state u32[Slots, 1]
  %2 = state blk.0.k  state f16[2 Slots, 8]
  %4 = state blk.0.v  state f32[2 Slots, 8]
  %6 = state blk.1.k  state f16[2 Slots, 8]
  %8 = state blk.1.v  state f32[2 Slots, 8]
  %1 = kv_copy %0  state u32[Slots, 1]
  %3 = kv_copy %2  state f16[2 Slots, 8]
  %5 = kv_copy %4  state f32[2 Slots, 8]
  %7 = kv_copy %6  state f16[2 Slots, 8]
  %9 = kv_copy %8  state f32[2 Slots, 8]
  state history <- %1
  state blk.0.k <- %3
  state blk.0.v <- %5
  state blk.1.k <- %7
  state blk.1.v <- %9
";
    let (kind, copy) = graphs.last().unwrap();
    assert_eq!((kind.to_string(), copy.to_string()), ("copy".to_owned(), expected.to_owned()));
    // Made anew, it does not name what only it named.
    let without_body = [graphs[2].clone(), graphs[4].clone()];
    let states: Vec<String> = copies(&without_body).unwrap().inputs().map(|(source, _)| source.to_string()).collect();
    assert_eq!(states, ["state history"]);
}

#[test]
fn the_states_of_all_models_are_copied() {
    let target = llama(&Tensors::llama(DType::F32, true)).unwrap();
    let draft = target.iter().map(|(kind, g)| (kind.of_model(1), g.clone().of_model(1, "draft.")));
    let graphs: Vec<(Kind, Graph)> = target.iter().cloned().chain(draft).collect();
    let states = copies(&graphs).unwrap().inputs().map(|(source, _)| source.to_string()).collect::<Vec<_>>();
    assert_eq!((states.len(), &*states[5], &*states[9]), (10, "state draft.history", "state draft.blk.1.v"));
}

#[test]
fn one_plan_serves_all_steps() {
    let graphs = with_copies(&Tensors::llama(DType::Q8_0, true));
    let compiled = compiled(&graphs).unwrap();
    assert_eq!(compiled.plans(Kind::COPY).len(), 1);
    let step = |rows, logit_rows, kinds: &[Kind]| {
        let plan = compiled.step(rows, logit_rows, kinds).unwrap();
        (plan.name, plan.bucket.rows, plan.bucket.logit_rows)
    };
    for (rows, logit_rows) in [(0, 0), (1, 1), (9, 0), (512, 64)] {
        assert_eq!(step(rows, logit_rows, &[Kind::COPY]), ("copy".to_owned(), 512, 64));
        assert_eq!(compiled.step(rows, logit_rows, &[Kind::COPY]).unwrap().arena_bytes, 0);
    }
    assert_eq!(step(2, 0, &[Kind::COPY, Kind::BODY]), ("copy+body".to_owned(), 8, 64));
    assert_eq!(step(2, 1, &[Kind::COPY, Kind::BODY, Kind::HEAD]), ("copy+body+head".to_owned(), 8, 1));
    // The other plans are those of a model without page copies.
    let without = self::compiled(&graphs[..4]).unwrap();
    assert_eq!(without.interface(), compiled.interface());
    for kind in Wants::SCORES.kinds() {
        let keys = |c: &Compiled| c.plans(kind).iter().map(|p| p.key()).collect::<Vec<_>>();
        assert_eq!(keys(&without), keys(&compiled));
    }
}

/// A step of sequences in these slots, with tables of their own, that feed this token; 4 places a page.
fn step(parts: &[(usize, u32, &[u32])], copies: &[PageCopy]) -> Vec<u32> {
    let mut buffer = StepBuffer::with_capacity(4, 8, 8, 0);
    for (slot, token, table) in parts {
        let (tables, logits) = (&[*table], LogitWish::None);
        buffer.push(&SeqStep { slot: *slot, tokens: &[*token], tables, logits, sampler: None });
    }
    copies.iter().for_each(|copy| buffer.copy(*copy));
    buffer.encode(0, 0).to_vec()
}

#[test]
fn plans_copy_what_their_graphs_copy() {
    let weights = Tensors::llama(DType::F32, true);
    let graphs = with_copies(&weights);
    let compiled = compiled(&graphs).unwrap();
    let mut eager = Eager::new(&weights, SLOTS);
    let mut machine = Machine::new(compiled.interface(), &weights, SLOTS);
    let copy = [PageCopy { group: 0, from: 3, to: 5, places: 2 }, PageCopy { group: 1, from: 0, to: 9, places: 1 }];
    let steps = [
        step(&[(0, 7, &[3])], &[]),
        step(&[(0, 8, &[3])], &[]),
        step(&[(0, 9, &[5]), (1, 4, &[6])], &copy),
        step(&[(0, LAST, &[5])], &[]),
    ];
    for words in &steps {
        [4, 0].iter().for_each(|i: &usize| eager.run(&graphs[*i].1, words));
        machine.run(&compiled.step(2, 0, &[Kind::COPY, Kind::BODY]).unwrap(), words);
        assert_eq!(machine.ports, eager.ports);
        eager.states.iter().for_each(|(name, array)| assert!(machine.state(name) == array, "{name}"));
    }
    // The history of page 3 is on page 5, and goes on there.
    assert_eq!(machine.state("history").all::<u32>()[12..24], [7, 8, 0, 0, 0, 0, 0, 0, 7, 8, 9, 0]);
    assert!(machine.ports.contains_key(&Port::HIDDEN));
}

#[test]
fn a_state_in_no_layer_group_can_not_be_copied() {
    let t = Tracer::new("body", &NoWeights);
    t.keep(t.cache("k", 4, DType::F16, 1, 8));
    let error = copies(&[(Kind::BODY, t.finish().unwrap())]).unwrap_err().to_string();
    assert!(
        error.ends_with("kv_copy: operand 0 is state f16[Slots(4), 8], expected a state [heads Slots, n]"),
        "{error}"
    );
}

#[test]
fn graphs_without_paged_states_have_an_empty_plan() {
    let t = Tracer::new("body", &NoWeights);
    t.keep(t.carry());
    let graphs = [(Kind::BODY, t.finish().unwrap())];
    let copy = [(Kind::COPY, copies(&graphs).unwrap())];
    assert!(compiled(&copy).unwrap().step(0, 0, &[Kind::COPY]).unwrap().steps.is_empty());
}
