//! Plans that were made by hand, and wrongly: `prepare` refuses each by name, before a kernel runs. Faults that every engine
//! must refuse are in `compute::conformance`.

use crate::rig::{self, BYTES, COLS, ROWS, Rig, input, kernel, output, own, plan, step, sum};
use inkstone_compute::{Engine, EngineOptions, Error, Exec, Layout, Plan, Port, Region, WeightSlot};
use inkstone_engine_cpu::{Cpu, Q8, Tile};
use inkstone_tensor::body::{Body, Node, Region as Fused};
use inkstone_tensor::ops::Linear;
use inkstone_tensor::step::StepError;
use inkstone_tensor::{DType, Dim, Op, Type};
use std::sync::Arc;

fn never(tile: &mut Tile) -> Result<(), StepError> {
    panic!("a kernel runs for {}", tile.op);
}

fn options() -> EngineOptions {
    let two = inkstone_compute::Kernel {
        implements: inkstone_compute::Pattern::Named("two"),
        members: &[("map", inkstone_compute::Numerics::DEFINITION)],
        ..kernel("two", never)
    };
    EngineOptions::default().threads(2).with_kernel(kernel("sum", never)).with_kernel(two)
}

/// Two sums: of the input into the arena, and of that and the input into the output; a tile a row.
fn good() -> Plan {
    plan(vec![step("sum", 1, &[input(), own(1, true)]), step("sum", 1, &[own(1, false), input(), output(2)])])
}

/// What is said of the plan when it was changed.
#[track_caller]
fn refusal(change: impl FnOnce(&mut Plan)) -> String {
    let mut plan = good();
    change(&mut plan);
    Rig::new(&options(), plan).err().expect("a refusal").to_string()
}

/// The same, for a fault that is found in a step.
#[track_caller]
fn fault(step: usize, op: &str, change: impl FnOnce(&mut Plan)) -> String {
    let text = refusal(change);
    let begin = format!("plan sums, step {step} ({op}): ");
    text.strip_prefix(&begin).unwrap_or_else(|| panic!("{text}, expected {begin}")).to_owned()
}

#[test]
fn the_plan_that_these_tests_break_is_good() {
    Rig::new(&options(), good()).unwrap();
}

#[test]
fn tiles_whose_writes_overlap_are_refused() {
    let text = refusal(|p| p.steps[0].args[1].cut.rows = false);
    assert_eq!(text, format!("tiles of step 0 may run while tiles of step 0 do, and both touch arena+{BYTES}"));
    // In blocks of columns, each of which takes all columns.
    let text = refusal(|p| (p.steps[0].grid.col_block, p.steps[0].grid.col_blocks) = (COLS / 2, 2));
    assert_eq!(text, "plan sums, step 0 (map): 2 blocks of 8192 columns, its results take 1");
}

#[test]
fn a_result_on_what_the_step_reads_is_refused() {
    let text = fault(1, "map", |p| p.steps[1].args[2] = own(1, true));
    assert_eq!(text, format!("result arena+{BYTES}/r overlaps operand arena+{BYTES}/r"));
}

#[test]
fn results_that_overlap_are_refused() {
    let text = fault(0, "two", |p| {
        p.steps[0] = two(twice());
        p.arena_bytes = 3 * BYTES;
    });
    assert_eq!(text, format!("results arena+{BYTES}/r and arena+{}/r overlap", BYTES + 64));
}

#[test]
fn a_kernel_that_is_not_there_is_refused() {
    let here: Vec<&str> = ["avx512", "avx2", "portable"]
        .into_iter()
        .filter(|s| Cpu::new(&EngineOptions::default()).unwrap().caps().features.contains(s))
        .collect();
    let own: Vec<String> = here.iter().map(|set| format!("map.{set}")).collect();
    let text = fault(0, "map", |p| p.steps[0].kernel = "summ".to_owned());
    assert_eq!(text, format!("no kernel summ; for this op there are: sum, {}", own.join(", ")));
}

#[test]
fn a_kernel_of_another_op_is_refused() {
    let text = fault(0, "map", |p| p.steps[0].kernel = "begin_step".to_owned());
    assert_eq!(text, "kernel begin_step does not do map");
}

/// A product of the input with a weight of this type.
fn product(p: &mut Plan, dtype: DType, layout: Layout) {
    let ty = Type::new(dtype, Dim::N(COLS), COLS);
    let weight = WeightSlot { name: "w".into(), ty, layout, numerics: Q8 };
    let mut interface = (*p.interface).clone();
    interface.weights.push(weight);
    p.interface = Arc::new(interface);
    let whole = |mut a: inkstone_compute::Arg| {
        a.cut.rows = false;
        a
    };
    let mut weight = whole(input());
    (weight.region, weight.ty, weight.value) = (Region::Weight(0), ty, 7);
    p.steps[0] = step("linear.f32.portable", usize::MAX, &[whole(input()), weight, whole(own(1, true))]);
    p.steps[0].op = Linear.into();
}

#[test]
fn a_dtype_or_a_layout_that_the_kernel_does_not_read_is_refused() {
    let text = fault(0, "linear", |p| product(p, DType::Q8_0, Layout::FILE));
    assert_eq!(text, "kernel linear.f32.portable takes no Q8_0 weights");
    let text = fault(0, "linear", |p| product(p, DType::F16, Layout("heap")));
    assert_eq!(text, "kernel linear.f32.portable takes no layout heap");
    // A kernel that takes it, but the weight is not there.
    let text = refusal(|p| product(p, DType::F16, Layout::FILE));
    assert_eq!(text, format!("plan sums: w0 needs {} bytes, bound are 0", 2 * COLS * COLS));
}

/// A region of two sums of its operand.
fn twice() -> Body {
    let mut body = Body::default();
    let [x, y, z] = [0; 3].map(|_| body.value(rig::TYPE));
    let node = |to| Node { op: sum(1), ins: [x].into_iter().collect(), outs: [to].into_iter().collect() };
    body.nodes = vec![node(y), node(z)];
    (body.inputs, body.outputs) = (vec![x], vec![y, z]);
    body
}

/// A step that does a body with two results, of which the second lies 64 bytes behind the first.
fn two(body: Body) -> inkstone_compute::Step {
    let mut second = own(1, true);
    second.offset += 64;
    let mut step = step("two", 1, &[input(), own(1, true), second]);
    step.op = Op::Region(Arc::new(Fused { name: "two".to_owned(), body }));
    step
}

#[test]
fn a_region_whose_body_lies_is_refused() {
    let broken = |change: fn(&mut Body)| {
        fault(0, "two", |p| {
            let mut body = twice();
            change(&mut body);
            p.steps[0] = two(body);
            p.steps[0].args[2] = own(2, true);
            p.arena_bytes = 3 * BYTES;
        })
    };
    let types = "map has results of other types than it infers";
    assert_eq!(broken(|b| b.types[1].cols = 8), types);
    assert_eq!(broken(|b| b.types[2].dtype = DType::F16), types);
    // Its inputs are not what the step has for operands.
    let all = |b: &mut Body| b.types.iter_mut().for_each(|t| t.cols = 8);
    assert_eq!(broken(all), format!("operand 0 is f32[Rows, {COLS}], expected f32[Rows, 8]"));
    let undefined = |b: &mut Body| b.nodes[1].ins[0] = b.outputs[1];
    assert_eq!(broken(undefined), "map reads %2, which is not defined or was consumed");
}

#[test]
fn a_grid_that_does_not_cover_or_has_too_many_tiles_is_refused() {
    let cut = |block: usize, blocks: usize| {
        refusal(|p| {
            p.steps[0].args[1].cut.cols = true;
            (p.steps[0].grid.col_block, p.steps[0].grid.col_blocks) = (block, blocks);
        })
    };
    assert_eq!(cut(COLS / 4, 3), "plan sums, step 0 (map): 3 blocks of 4096 columns, its results take 4");
    assert_eq!(cut(0, 1), "plan sums, step 0 (map): a grid of 0 columns a tile");
    let text = fault(0, "map", |p| {
        p.bucket.rows = 2 * ROWS;
        p.arena_bytes = 3 * BYTES;
        p.steps[0].args[1].cut.cols = true;
        (p.steps[0].grid.col_block, p.steps[0].grid.col_blocks) = (1, COLS);
    });
    assert_eq!(text, "262144 tiles, allowed: 262143");
}

#[test]
fn one_buffer_for_two_regions_is_refused() {
    let engine = Cpu::new(&options()).unwrap();
    let bind = rig::bind(&engine, &good()).unwrap();
    let hidden = bind.ports[0].1.clone();
    let prepare = |bind| engine.prepare(Arc::new(good()), bind, Exec::Steps).err().unwrap().to_string();
    let mut shared = bind.clone();
    shared.ports = [(Port::HIDDEN, hidden.clone()), (Port::LOGITS, hidden.clone())].into();
    assert_eq!(prepare(shared), "plan sums: hidden and logits are bound to one buffer");
    let mut shared = bind.clone();
    shared.step = hidden;
    assert_eq!(prepare(shared), "plan sums: hidden and the step buffer are bound to one buffer");
}

#[test]
fn what_belongs_to_another_engine_is_refused_also_if_it_is_of_the_same_kind() {
    let [one, other] = [0; 2].map(|_| Arc::new(Cpu::new(&options()).unwrap()));
    let bind = rig::bind(&one, &good()).unwrap();
    let prepared = one.prepare(Arc::new(good()), bind.clone(), Exec::Steps).unwrap();
    // Their runs would not wait for each other.
    let foreign = |what: &str, error: Error| {
        assert!(matches!(error, Error::Foreign { .. }));
        assert_eq!(error.to_string(), format!("the {what} belongs to another engine than cpu"));
    };
    foreign("buffer", other.prepare(Arc::new(good()), bind.clone(), Exec::Steps).err().unwrap());
    let mut queue = other.queue().unwrap();
    foreign("executable", queue.submit(&prepared, &[]).unwrap_err());
    foreign("buffer", queue.write(&bind.step, 0, &[0; 4]).unwrap_err());
}
