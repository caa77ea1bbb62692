//! One test a rule: the smallest plan that breaks it.

use crate::conformance::plan::{How, PlanBuilder};
use crate::plan::{Arg, Grid, Plan, Port, Region};
use crate::{Bindings, Buffer, Error, Layout, Numerics, Weights};
use inkstone_tensor::body::{Body, Node, Region as Fused};
use inkstone_tensor::ops::{Advance, BeginStep, By, Embed, Expr, KvWrite, Map, Term};
use inkstone_tensor::step::{ROWS, carry};
use inkstone_tensor::{DType, Dim, Op, Sizes, Slots, Type};
use smallvec::smallvec;
use std::sync::Arc;

const BUCKET: Sizes = Sizes { rows: 4, logit_rows: 1, slots: Slots::one_group(32) };

/// carry -> rows -> embedded -> added -> written to a cache; advance.
fn good() -> Plan {
    let mut b = PlanBuilder::new("p", BUCKET);
    let carry = b.state("carry", carry::CARRY);
    let cache = b.state("k", Type::new(DType::F16, Dim::Slots { group: 0, heads: 1 }, 8).state());
    let table = b.weight("table", Type::f32(Dim::N(5), 8), Layout::FILE, Numerics::DEFINITION);
    let hidden = b.port(Port::HIDDEN, Type::f32(Dim::Rows, 8));
    let rows = b.step(How::EVAL, BeginStep.into(), &[carry], &[]).unwrap()[0];
    let x = b.step(How::EVAL, Embed { by: By::Token }.into(), &[rows, table], &[]).unwrap()[0];
    b.step(How::EVAL, add(), &[x, x], &[hidden]).unwrap();
    b.step(How::EVAL, KvWrite.into(), &[cache, x, rows], &[]).unwrap();
    b.step(How::EVAL, Advance.into(), &[carry, rows], &[]).unwrap();
    b.finish()
}

fn add() -> Op {
    Map(Expr::new(&[Term::In(0), Term::In(1), Term::Add])).into()
}

const EMBED: usize = 1;
const ADD: usize = 2;
const WRITE: usize = 3;

/// The fault that is found after a change of the good plan.
fn fault(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = good();
    change(&mut plan);
    match plan.check() {
        Err(Error::BadPlan { step, fault, .. }) => format!("{step}: {fault}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_plan_that_the_tests_break_is_good() {
    good().check().unwrap();
}

#[test]
fn results_have_the_types_that_the_op_infers() {
    assert_eq!(fault(|p| p.steps[EMBED].args[2].ty.cols = 4), "1: results [f32[Rows, 4]], expected [f32[Rows, 8]]");
    assert_eq!(fault(|p| p.steps[EMBED].args.truncate(2)), "1: results [], expected [f32[Rows, 8]]");
}

#[test]
fn operands_have_types_that_the_op_takes() {
    let text = fault(|p| p.steps[EMBED].args.retain(|a| a.region != Region::Weight(0)));
    assert_eq!(text, "1: operand 1 is missing, expected one of 2 operands");
}

#[test]
fn operands_stand_before_results() {
    assert_eq!(fault(|p| p.steps[EMBED].args.swap(1, 2)), "1: an operand stands behind a result");
}

#[test]
fn ids_are_in_the_interface() {
    for region in [Region::Weight(1), Region::State(2), Region::Port(Port::LOGITS)] {
        let text = fault(|p| p.steps[EMBED].args[1].region = region);
        assert_eq!(text, format!("1: {region} is not in the interface"));
    }
}

#[test]
fn types_are_those_of_the_interface() {
    let text = fault(|p| p.steps[EMBED].args[1].ty.rows = Dim::N(6));
    assert_eq!(text, "1: w0 is f32[6, 8], in the interface f32[5, 8]");
    assert_eq!(fault(|p| p.steps[ADD].args[2].ty.cols = 4), "2: hidden is f32[Rows, 4], in the interface f32[Rows, 8]");
}

#[test]
fn only_states_are_states() {
    let text = fault(|p| p.steps[ADD].args[0].ty.state = true);
    assert_eq!(text, "2: arena+64 state f32[Rows, 8]: a state in the arena");
    let text = fault(|p| {
        Arc::make_mut(&mut p.interface).ports[0].1.state = true;
        p.steps[ADD].args[2].ty.state = true;
    });
    assert_eq!(text, "2: hidden state f32[Rows, 8]: states are the only values that are states");
}

#[test]
fn weights_states_and_ports_begin_at_their_first_byte() {
    assert_eq!(fault(|p| p.steps[EMBED].args[1].offset = 64), "1: w0 begins at byte 64, allowed: 0");
}

#[test]
fn weights_are_not_written() {
    let text = fault(|p| {
        let interface = Arc::make_mut(&mut p.interface);
        interface.weights[0].ty = Type::f32(Dim::Rows, 8);
        p.steps[ADD].args[2].region = Region::Weight(0);
        p.steps.drain(..ADD);
    });
    assert_eq!(text, "0: w0 is written, but weights are read only");
}

/// Gives a step a first phase with scratch behind all values.
fn phased(plan: &mut Plan, step: usize) {
    let at = plan.arena_bytes;
    plan.arena_bytes += 64;
    plan.steps[step].scratch = at..at + 64;
    plan.steps[step].first = Some(Grid { col_blocks: 3, ..plan.steps[step].grid });
}

#[test]
fn scratch_is_inside_the_arena() {
    let mut plan = good();
    phased(&mut plan, ADD);
    plan.check().unwrap();
    assert_eq!(plan.bytes_of(Region::Arena), 256);
    let text = fault(|p| {
        phased(p, ADD);
        p.arena_bytes -= 1;
    });
    assert_eq!(text, "2: scratch at bytes 192 to 256 of an arena of 255");
    let backwards = std::ops::Range { start: 64, end: 0 };
    assert_eq!(fault(|p| p.steps[ADD].scratch = backwards), "2: scratch at bytes 64 to 0 of an arena of 192");
    assert_eq!(fault(|p| p.steps[ADD].scratch = 8..64), "2: scratch at byte 8, allowed: multiples of 64");
}

#[test]
fn scratch_is_on_no_argument_of_its_step() {
    let text = fault(|p| p.steps[ADD].scratch = 128..136);
    assert_eq!(text, "2: scratch at bytes 128 to 136 overlaps arena+64 f32[Rows, 8]");
    let text = fault(|p| p.steps[EMBED].scratch = 64..128);
    assert_eq!(text, "1: scratch at bytes 64 to 128 overlaps arena+64 f32[Rows, 8]");
}

#[test]
fn scratch_is_on_no_value_that_is_read_later() {
    let text = fault(|p| p.steps[ADD].scratch = 0..64);
    assert_eq!(text, "3: operand arena+0 u32[Rows, 3] is read before it is written");
    // Afterwards it may.
    let mut plan = good();
    plan.steps.truncate(WRITE);
    plan.steps[ADD].scratch = 0..64;
    plan.check().unwrap();
}

#[test]
fn first_phases_have_scratch_tiles_and_the_rows_of_their_step() {
    let broken = |change: fn(&mut crate::Step)| {
        fault(|p| {
            phased(p, ADD);
            change(&mut p.steps[ADD]);
        })
    };
    assert_eq!(broken(|s| s.scratch = 0..0), "2: a first phase without scratch");
    let rows = broken(|s| s.first.as_mut().unwrap().rows = Dim::LogitRows);
    assert_eq!(rows, "2: a first phase along LogitRows, its step along Rows");
    assert_eq!(broken(|s| s.first.as_mut().unwrap().col_blocks = 0), "2: a grid of 0 blocks of columns a tile");
    let many = broken(|s| s.first.as_mut().unwrap().col_blocks = usize::MAX);
    assert_eq!(many, format!("2: 1 x {} tiles, allowed: {}", usize::MAX, u32::MAX));
}

#[test]
fn states_are_read_and_written_in_the_same_place() {
    let text = fault(|p| {
        let interface = Arc::make_mut(&mut p.interface);
        interface.states.push(interface.states[1].clone());
        p.steps[WRITE].args[3].region = Region::State(2);
    });
    assert_eq!(text, "3: state1 is consumed, but not written");
    let text = fault(|p| {
        p.steps[ADD].op = Op::Region(Arc::new(Fused { name: "two".into(), body: cache_twice() }));
        let cache = p.steps[WRITE].args[0].clone();
        let mut args = vec![cache.clone(), cache, p.steps[WRITE].args[1].clone(), p.steps[WRITE].args[2].clone()];
        args.extend([p.steps[WRITE].args[3].clone(), p.steps[WRITE].args[3].clone()]);
        p.steps[ADD].args = args.into();
    });
    assert_eq!(text, "2: state state1 is read 2 times and written 2 times, allowed: once each");
    let text = fault(|p| {
        two_caches(p);
        p.steps[WRITE].args.swap(4, 5);
    });
    assert_eq!(text, "3: state1 is consumed, but state2 is the result in its place");
}

/// Makes the write one of two caches.
fn two_caches(p: &mut Plan) {
    let interface = Arc::make_mut(&mut p.interface);
    interface.states.push(interface.states[1].clone());
    let step = &mut p.steps[WRITE];
    step.op = Op::Region(Arc::new(Fused { name: "two".into(), body: cache_twice() }));
    let [a, x, rows, next] = [0, 1, 2, 3].map(|i| step.args[i].clone());
    let second = |a: &Arg| Arg { region: Region::State(2), ..a.clone() };
    step.args = smallvec![a.clone(), second(&a), x, rows, next.clone(), second(&next)];
}

#[test]
fn a_region_may_write_several_states() {
    let mut plan = good();
    two_caches(&mut plan);
    plan.check().unwrap();
}

/// Writes two caches.
fn cache_twice() -> Body {
    let mut body = Body::default();
    let cache = Type::new(DType::F16, Dim::Slots { group: 0, heads: 1 }, 8).state();
    let [a, b] = [0, 1].map(|_| body.value(cache));
    let (x, rows) = (body.value(Type::f32(Dim::Rows, 8)), body.value(ROWS));
    let [c, d] = [0, 1].map(|_| body.value(cache));
    let write = |from, to| Node { op: KvWrite.into(), ins: smallvec![from, x, rows], outs: smallvec![to] };
    body.nodes = vec![write(a, c), write(b, d)];
    (body.inputs, body.outputs) = (vec![a, b, x, rows], vec![c, d]);
    body
}

#[test]
fn bodies_of_regions_are_well_formed() {
    fn broken(change: impl FnOnce(&mut Body)) -> String {
        fault(|p| {
            let mut body = cache_twice();
            change(&mut body);
            p.steps[ADD].op = Op::Region(Arc::new(Fused { name: "two".into(), body }));
        })
    }
    assert_eq!(
        broken(|b| b.nodes[1].ins[0] = b.inputs[0]),
        "2: kv_write reads %0, which is not defined or was consumed"
    );
    assert_eq!(broken(|b| b.nodes[0].ins.truncate(1)), "2: kv_write: operand 1 is missing, expected one of 3 operands");
    assert_eq!(broken(|b| b.nodes[0].outs.clear()), "2: kv_write has results of other types than it infers");
    assert_eq!(broken(|b| b.nodes[1].outs[0].0 = 4), "2: %4 is defined twice");
    assert_eq!(broken(|b| b.inputs[0].0 = 99), "2: %99 has no type");
    for bad in [0, 99] {
        let text = format!("2: output %{bad} is not defined, was consumed, or is an output twice");
        assert_eq!(broken(|b| b.outputs[0].0 = bad), text);
    }
    let lost = |v| format!("2: {v} is consumed, but its newest version is not in its place of the last outputs");
    assert_eq!(broken(|b| b.outputs.swap(0, 1)), lost("%0"));
    assert_eq!(broken(|b| b.outputs.truncate(1)), lost("%1"));
    assert_eq!(
        broken(|b| b.nodes[0].ins[2] = b.nodes[0].ins[0]),
        "2: kv_write: operand 2 is state f16[Slots, 8], expected u32[Rows, 3]"
    );
    let deep = fault(|p| {
        let mut op = add();
        for _ in 0..10 {
            let mut body = Body::default();
            let (a, b) = (body.value(Type::f32(Dim::Rows, 8)), body.value(Type::f32(Dim::Rows, 8)));
            let c = body.value(Type::f32(Dim::Rows, 8));
            body.nodes = vec![Node { op, ins: smallvec![a, b], outs: smallvec![c] }];
            (body.inputs, body.outputs) = (vec![a, b], vec![c]);
            op = Op::Region(Arc::new(Fused { name: "deep".into(), body }));
        }
        p.steps[ADD].op = op;
    });
    assert_eq!(deep, "2: regions are nested more than 8 deep");
}

#[test]
fn the_arena_is_aligned_and_large_enough() {
    let text = fault(|p| p.steps[ADD].args[0].offset = 32);
    assert_eq!(text, "2: arena+32 f32[Rows, 8]: its offset is not a multiple of 64");
    assert_eq!(fault(|p| p.arena_bytes -= 64), "1: arena+64 f32[Rows, 8] ends at byte 192 of 128");
    let text = fault(|p| p.steps[EMBED].args[2].offset = u64::MAX - 63);
    assert_eq!(text, format!("1: arena+{} f32[Rows, 8]: more bytes than can be addressed", u64::MAX - 63));
}

#[test]
fn sizes_at_the_bucket_can_be_addressed() {
    assert!(fault(|p| p.bucket.slots = Slots::one_group(usize::MAX / 2)).ends_with("more bytes than can be addressed"));
    assert_eq!(fault(|p| p.bucket.rows = 0), "0: arena+0 u32[Rows, 3]: the bucket has no Rows");
    assert!(fault(|p| p.steps[EMBED].args[2].ty.cols = 0).contains("0 columns are not whole blocks"));
    assert!(
        fault(|p| p.steps[EMBED].args[2].ty.dtype = DType::Q8_0).contains("8 columns are not whole blocks of Q8_0")
    );
}

#[test]
fn the_arena_is_written_before_it_is_read() {
    let text = fault(|p| drop(p.steps.remove(EMBED)));
    assert_eq!(text, "1: operand arena+64 f32[Rows, 8] is read before it is written");
}

#[test]
fn results_of_a_step_do_not_overlap() {
    let text = fault(|p| {
        let mut body = Body::default();
        let x = body.value(Type::f32(Dim::Rows, 8));
        let outs = [0, 1].map(|_| body.value(x_type()));
        let double = |to| Node { op: add(), ins: smallvec![x, x], outs: smallvec![to] };
        body.nodes = outs.map(double).into();
        (body.inputs, body.outputs) = (vec![x], outs.into());
        let step = &mut p.steps[ADD];
        step.op = Op::Region(Arc::new(Fused { name: "twice".into(), body }));
        step.args[1] = step.args[2].clone();
    });
    assert_eq!(text, "2: results hidden and hidden overlap");
}

fn x_type() -> Type {
    Type::f32(Dim::Rows, 8)
}

#[test]
fn grids_have_tiles_that_can_be_counted() {
    assert_eq!(fault(|p| p.steps[ADD].grid.row_block = 0), "2: a grid of 0 rows a tile");
    assert_eq!(fault(|p| p.steps[ADD].grid.col_block = 0), "2: a grid of 0 columns a tile");
    assert_eq!(fault(|p| p.steps[ADD].grid.col_blocks = 0), "2: a grid of 0 blocks of columns a tile");
    assert!(fault(|p| p.steps[ADD].grid.col_blocks = usize::MAX).contains("tiles, allowed"));
}

#[test]
fn grids_cover_their_results() {
    let cut = |blocks| {
        move |p: &mut Plan| {
            let step = &mut p.steps[ADD];
            (step.grid.col_block, step.grid.col_blocks) = (3, blocks);
            step.args[2].cut.cols = true;
        }
    };
    let mut plan = good();
    cut(3)(&mut plan);
    plan.check().unwrap();
    for blocks in [1, 2, 4] {
        assert_eq!(fault(cut(blocks)), format!("2: {blocks} blocks of 3 columns, its results take 3"));
    }
    assert_eq!(
        fault(|p| p.steps[ADD].grid.col_blocks = 2),
        format!("2: 2 blocks of {} columns, its results take 1", usize::MAX)
    );
    assert_eq!(
        fault(|p| p.steps[ADD].args[0].cut.cols = true),
        "2: operand arena+64/c f32[Rows, 8] is cut by columns, allowed: results"
    );
}

#[test]
fn buffers_hold_what_the_plan_touches() {
    let plan = good();
    let buffer = |bytes| Buffer::new(Arc::new(()), bytes);
    let bind = |states: &[u64], ports: &[u64], arena| Bindings {
        weights: Weights::new(Arc::new(()), 0),
        states: states.iter().map(|b| buffer(*b)).collect(),
        ports: ports.iter().map(|b| (Port::HIDDEN, buffer(*b))).collect(),
        arena: buffer(arena),
        step: buffer(0),
    };
    let carry = carry::CARRY.bytes(&BUCKET);
    bind(&[carry, 512], &[128], 192).check(&plan).unwrap();
    let cases = [
        (bind(&[carry, 511], &[128], 192), "plan p: state1 needs 512 bytes, bound are 511"),
        (bind(&[carry], &[128], 192), "plan p: state1 needs 512 bytes, bound are 0"),
        (bind(&[carry, 512], &[], 192), "plan p: hidden needs 128 bytes, bound are 0"),
        (bind(&[carry, 512], &[128], 191), "plan p: arena needs 192 bytes, bound are 191"),
    ];
    for (bindings, text) in cases {
        assert_eq!(bindings.check(&plan).unwrap_err().to_string(), text);
    }
}
