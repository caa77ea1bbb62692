//! For each rule the smallest graph that breaks it, made from one that breaks none.

use super::*;
use inkstone_compute::Port;
use inkstone_tensor::DType;
use inkstone_tensor::body::Region;
use inkstone_tensor::op::Op;
use inkstone_tensor::ops::{Advance, BeginStep, Expr, Map, Term};
use inkstone_tensor::step::ROWS;
use inkstone_tensor::step::carry::CARRY;
use std::sync::Arc;

fn v(i: u32) -> ValueId {
    ValueId(i)
}

fn node(op: impl Into<Op>, ins: &[u32], outs: &[u32]) -> Node {
    Node { op: op.into(), ins: ins.iter().map(|i| v(*i)).collect(), outs: outs.iter().map(|i| v(*i)).collect() }
}

fn carry() -> Source {
    Source::State("carry".into())
}

/// Values 0 carry, 1 rows, 2 carry, 3 a port, 4 the port squared.
fn sound() -> Graph {
    let square = Map(Expr::new(&[Term::In(0), Term::In(0), Term::Mul]));
    let x = Type::f32(Dim::Rows, 4);
    let mut g = Graph::new("g");
    g.body = Body {
        types: vec![CARRY, ROWS, CARRY, x, x],
        inputs: vec![v(0), v(3)],
        nodes: vec![node(BeginStep, &[0], &[1]), node(Advance, &[0, 1], &[2]), node(square, &[3], &[4])],
        outputs: vec![v(2), v(4)],
    };
    g.inputs = vec![carry(), Source::Port(Port::HIDDEN)];
    g.outputs = vec![carry(), Source::Port(Port::LOGITS)];
    g.at = vec![Location::caller(); 3];
    g
}

/// The faults after a change to a graph without any, without their lines.
fn faults(change: impl FnOnce(&mut Graph)) -> Vec<String> {
    let mut g = sound();
    change(&mut g);
    verify(&g).into_iter().map(|f| Fault { at: None, ..f }.to_string()).collect()
}

fn in_region(inputs: &[Type], nodes: Vec<Node>, more: &[Type], outputs: &[u32]) -> Op {
    let types: Vec<Type> = inputs.iter().chain(more).copied().collect();
    let inputs = (0..inputs.len() as u32).map(ValueId).collect();
    let body = Body { types, inputs, nodes, outputs: outputs.iter().map(|i| v(*i)).collect() };
    Op::Region(Arc::new(Region { name: "block".into(), body }))
}

#[test]
fn a_sound_graph_has_no_fault() {
    assert_eq!(faults(|_| ()), [""; 0]);
}

#[test]
fn sources_and_lines_are_as_many_as_inputs_outputs_and_nodes() {
    let all = faults(|g| {
        g.inputs.pop();
        g.outputs.pop();
        g.at.pop();
    });
    assert_eq!(all.len(), 3);
    assert_eq!(all[0], "graph: 1 sources or lines for 2 inputs");
}

#[test]
fn ids_are_in_range() {
    assert_eq!(faults(|g| g.body.inputs[1] = v(9))[0], "input 1: %9 is not one of 5 values");
    assert_eq!(faults(|g| g.body.nodes[2].ins[0] = v(9)), ["node 2 (map): %9 is not one of 5 values"]);
    assert_eq!(faults(|g| g.body.nodes[2].outs[0] = v(9))[0], "node 2 (map): %9 is not one of 5 values");
    assert_eq!(faults(|g| g.body.outputs[1] = v(9)), ["output 1: %9 is not one of 5 values"]);
}

#[test]
fn values_are_defined_before_they_are_used() {
    assert_eq!(
        faults(|g| g.body.nodes.swap(0, 1)),
        [
            "node 0 (advance): %1 is used before it is defined",
            "node 1 (begin_step): %0 is used after node 0 (advance) consumed it"
        ]
    );
    assert!(faults(|g| drop(g.body.inputs.pop().zip(g.inputs.pop())))[0].contains("%3 is used before it is defined"));
}

#[test]
fn values_are_defined_once() {
    assert!(faults(|g| g.body.nodes[2].outs[0] = v(3))[0].contains("node 2 (map): %3 is defined twice"));
    assert!(faults(|g| g.body.inputs[1] = v(0))[0].contains("input 1: %0 is defined twice"));
}

#[test]
fn types_are_those_that_ops_infer() {
    let all = faults(|g| g.body.types[4] = Type::f32(Dim::Rows, 5));
    assert_eq!(all, ["node 2 (map): results are f32[Rows, 5], expected f32[Rows, 4]"]);
    let all = faults(|g| g.body.types[1] = Type::u32(Dim::Rows, 2));
    assert_eq!(all[0], "node 0 (begin_step): results are u32[Rows, 2], expected u32[Rows, 3]");
    assert_eq!(all[1], "node 1 (advance): operand 1 is u32[Rows, 2], expected u32[Rows, 3]");
    assert!(faults(|g| g.body.nodes[2].outs.clear())[0].contains("results are , expected"));
}

#[test]
fn rows_are_whole_blocks() {
    let all = faults(|g| g.body.types[3] = Type::new(DType::Q8_0, Dim::Rows, 33));
    assert!(all[0].contains("input 1: %3 is q8_0[Rows, 33], whose rows are not a whole number of blocks"), "{all:?}");
    assert!(faults(|g| g.body.types[3].cols = 0)[0].contains("not a whole number of blocks"));
}

#[test]
fn a_state_is_consumed_once() {
    let all = faults(|g| {
        g.body.types.push(CARRY);
        g.body.nodes.push(node(Advance, &[0, 1], &[5]));
        g.at.push(Location::caller());
    });
    assert_eq!(all, ["node 3 (advance): %0 is used after node 1 (advance) consumed it"]);
}

#[test]
fn a_state_is_not_read_after_it_was_consumed() {
    let all = faults(|g| {
        g.body.types.push(ROWS);
        g.body.nodes.push(node(BeginStep, &[0], &[5]));
        g.at.push(Location::caller());
    });
    assert_eq!(all, ["node 3 (begin_step): %0 is used after node 1 (advance) consumed it"]);
    let both = faults(|g| g.body.nodes[1].ins[1] = v(0));
    assert!(both.contains(&"node 1 (advance): %0 is consumed and read by the same node".to_owned()), "{both:?}");
}

#[test]
fn the_last_version_of_a_state_is_an_output() {
    let lost = faults(|g| drop((g.outputs.remove(0), g.body.outputs.remove(0))));
    assert_eq!(lost, ["graph: state carry is taken, but its last version is not an output"]);
    assert_eq!(faults(|g| g.body.outputs[0] = v(0)), ["output 0: %0 is used after node 1 (advance) consumed it"]);
}

#[test]
fn states_come_back_under_their_own_name() {
    let all = faults(|g| g.outputs[0] = Source::State("other".into()));
    assert_eq!(all[0], "output 0 (state other): was not taken");
    let swapped = faults(|g| {
        g.body.types.push(CARRY);
        g.body.inputs.push(v(5));
        g.inputs.push(Source::State("spare".into()));
        g.body.outputs.push(v(5));
        g.outputs.push(Source::State("spare".into()));
        g.body.outputs.swap(0, 2);
    });
    assert_eq!(
        swapped,
        ["output 0 (state carry): %5 is not a version of it", "output 2 (state spare): %2 is not a version of it"]
    );
}

#[test]
fn outputs_are_there_once() {
    let all = faults(|g| {
        g.outputs.push(Source::Port(Port::LOGITS));
        g.body.outputs.push(v(4));
    });
    assert_eq!(all, ["output 2: %4 is an output twice", "output 2 (port logits): is an output twice"]);
}

#[test]
fn inputs_are_there_once() {
    let all = faults(|g| {
        g.inputs.push(Source::Port(Port::HIDDEN));
        g.body.types.push(Type::f32(Dim::Rows, 4));
        g.body.inputs.push(v(5));
    });
    assert_eq!(all, ["input 2 (port hidden): is an input twice"]);
}

#[test]
fn sources_have_their_kind_of_type() {
    assert_eq!(faults(|g| g.inputs[1] = Source::Weight("w".into())), ["input 1 (weight w): can't be f32[Rows, 4]"]);
    assert!(
        faults(|g| g.inputs[1] = Source::State("s".into()))[0].contains("input 1 (state s): can't be f32[Rows, 4]")
    );
    assert!(faults(|g| g.inputs[0] = Source::Port(Port::ROWS))[0].contains("input 0 (port rows): can't be state"));
}

#[test]
fn outputs_are_states_or_computed_ports() {
    assert_eq!(
        faults(|g| g.outputs[1] = Source::Weight("w".into())),
        ["output 1 (weight w): a weight can't be an output"]
    );
    assert_eq!(faults(|g| g.body.outputs[1] = v(3)), ["output 1 (port logits): %3 is not computed by a node"]);
    assert!(faults(|g| g.outputs[0] = Source::Port(Port::ROWS))[0].contains("output 0 (port rows): can't be state"));
    assert_eq!(faults(|g| g.outputs[1] = Source::Port(Port::HIDDEN)), ["output 1 (port hidden): is also an input"]);
}

#[test]
fn regions_are_verified_inside() {
    let x = Type::f32(Dim::Rows, 4);
    let double = || Map(Expr::new(&[Term::In(0), Term::In(0), Term::Add]));
    let good = in_region(&[x], vec![node(double(), &[0], &[1])], &[x], &[1]);
    assert_eq!(faults(|g| g.body.nodes[2].op = good), [""; 0]);
    let bad = in_region(&[x], vec![node(double(), &[2], &[1])], &[x], &[1]);
    assert_eq!(faults(|g| g.body.nodes[2].op = bad), ["node 2 (block) node 0 (map): %2 is not one of 2 values"]);
}

#[test]
fn regions_do_not_nest_without_end() {
    let x = Type::f32(Dim::Rows, 4);
    let deep = (0..=MAX_DEPTH)
        .fold(sound().body.nodes[2].op.clone(), |inner, _| in_region(&[x], vec![node(inner, &[0], &[1])], &[x], &[1]));
    let all = faults(|g| g.body.nodes[2].op = deep);
    assert!(all.len() == 1 && all[0].ends_with("regions nest deeper than 8"), "{all:?}");
}

#[test]
fn a_region_gives_its_states_back_as_its_last_outputs() {
    let advance = || vec![node(Advance, &[0, 1], &[2])];
    let good = in_region(&[CARRY, ROWS], advance(), &[CARRY], &[2]);
    assert_eq!(faults(|g| g.body.nodes[1].op = good), [""; 0]);
    let lost = in_region(&[CARRY, ROWS], advance(), &[CARRY], &[1]);
    let all = faults(|g| g.body.nodes[1].op = lost);
    assert_eq!(all[0], "node 1 (block) region: the last version of %0 is not in its place of the last outputs");
    let two = |outputs: &[u32]| {
        let nodes = vec![node(Advance, &[0, 2], &[3]), node(Advance, &[1, 2], &[4])];
        in_region(&[CARRY, CARRY, ROWS], nodes, &[CARRY, CARRY], outputs)
    };
    let with = |region| {
        faults(|g| {
            g.body.types.extend([CARRY, CARRY]);
            g.body.inputs.push(v(5));
            g.inputs.push(Source::State("spare".into()));
            g.body.nodes[1] = Node { op: region, ..node(Advance, &[0, 5, 1], &[2, 6]) };
            g.body.outputs.push(v(6));
            g.outputs.push(Source::State("spare".into()));
        })
    };
    assert_eq!(with(two(&[3, 4])), [""; 0]);
    let swapped = with(two(&[4, 3]));
    let lost = ["%0", "%1"].map(|state| {
        format!("node 1 (block) region: the last version of {state} is not in its place of the last outputs")
    });
    assert_eq!(swapped[..2], lost);
}

#[test]
fn a_state_comes_from_a_state() {
    let x = Type::f32(Dim::Rows, 4);
    let made = in_region(&[x, CARRY], vec![], &[], &[1]);
    let all = faults(|g| {
        g.body.nodes[2] = node(made, &[3, 2], &[4]);
        g.body.types[4] = CARRY;
    });
    assert!(all.contains(&"node 2 (block): %4 is a state that comes from none".to_owned()), "{all:?}");
}

#[test]
fn every_fault_is_reported_with_its_line() {
    let mut g = sound();
    g.body.nodes.swap(0, 1);
    g.body.types[4] = Type::f32(Dim::Rows, 5);
    let all = verify(&g);
    assert!(all.len() >= 2 && all.iter().all(|f| f.at.is_some()), "{all:?}");
    assert!(all[0].to_string().contains("tests.rs:"), "{}", all[0]);
}
