//! Regions: tiles of several results, several states, and what `prepare` refuses.

use crate::rig::{COLS, ROWS, Rig, TYPE, arg, input, output, own, plan, step, sum};
use inkstone_compute::{
    Arg, Cut, EngineOptions, Interface, Kernel, Layout, Numerics, Pattern, Plan, Port, Region, StateSlot, Step,
    WeightSlot,
};
use inkstone_engine_cpu::{Entry, Tile};
use inkstone_tensor::body::{Body, Node, Region as Fused};
use inkstone_tensor::ops::{KvWrite, Linear, Quantize};
use inkstone_tensor::step::{ROWS as STEP_ROWS, StepError};
use inkstone_tensor::{DType, Dim, Op, Sizes, Slots, Type};
use smallvec::smallvec;
use std::sync::Arc;

const F64: Numerics = Numerics::DEFINITION;
/// Places of caches.
const SLOTS: usize = 8;

/// A kernel from outside for the region `name`.
fn kernel(name: &'static str, entry: Entry, members: &'static [(&'static str, Numerics)]) -> Kernel {
    Kernel { members, ..Kernel::by_definition(name, Pattern::Named(name), Arc::new(entry)) }
}

/// Two results from one operand, each by a map of it.
fn pair() -> Op {
    let mut body = Body::default();
    let x = body.value(TYPE);
    let outs = [0, 1].map(|_| body.value(TYPE));
    body.nodes = outs.map(|out| Node { op: sum(1), ins: smallvec![x], outs: smallvec![out] }).into();
    (body.inputs, body.outputs) = (vec![x], outs.into());
    Op::Region(Arc::new(Fused { name: "pair".to_owned(), body }))
}

/// x + column, and 2 x + column; NaN if a tile has columns of both.
fn fill_pair(tile: &mut Tile) -> Result<(), StepError> {
    let owned = tile.outs.iter().filter(|out| !out.cols.is_empty()).count();
    for (i, out) in tile.outs.iter_mut().enumerate() {
        for row in out.rows.clone().filter(|_| !out.cols.is_empty()).collect::<Vec<_>>() {
            let x = tile.ins[0].row::<f32>(row)[0] * (i + 1) as f32;
            let from = out.cols.start;
            let values = out.row::<f32>(row).iter_mut().enumerate();
            values.for_each(|(c, o)| *o = if owned == 1 { x + (from + c) as f32 } else { f32::NAN });
        }
    }
    Ok(())
}

/// The pair in blocks of so many columns, and the sum of both.
fn pair_plan(col_block: usize, col_blocks: usize) -> Plan {
    let cut = |a: Arg| Arg { cut: Cut { rows: true, cols: true }, ..a };
    let mut first = step("pair", 3, &[input(), cut(own(1, true)), cut(own(2, true))]);
    first.op = pair();
    (first.grid.col_block, first.grid.col_blocks) = (col_block, col_blocks);
    plan(vec![first, step("map.portable", 1, &[own(1, false), own(2, false), output(3)])])
}

#[test]
fn each_tile_has_columns_of_one_result() {
    for (threads, block) in [(1, COLS), (2, COLS / 2), (3, COLS / 3), (2, COLS / 16)] {
        let kernel = kernel("pair", fill_pair, &[("map", F64)]);
        let options = EngineOptions::default().threads(threads).with_kernel(kernel).isa("portable");
        let mut rig = Rig::new(&options, pair_plan(block, 2 * COLS.div_ceil(block))).unwrap();
        rig.feed(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let ticket = rig.submit().unwrap();
        rig.queue.wait(ticket).unwrap();
        let mut found = vec![0f32; 5 * COLS];
        rig.queue.read(&rig.bind.ports[1].1, 0, bytemuck::cast_slice_mut(&mut found)).unwrap();
        let wanted: Vec<f32> = (0..5 * COLS).map(|i| 3.0 * (1 + i / COLS) as f32 + 2.0 * (i % COLS) as f32).collect();
        assert_eq!(found, wanted, "{threads} threads, blocks of {block} columns");
    }
}

/// Writes two caches.
fn write_both() -> Op {
    let cache = Type::f32(Dim::Slots { group: 0, heads: 1 }, COLS).state();
    let mut body = Body::default();
    let [x, rows, a, b, c, d] = [TYPE, STEP_ROWS, cache, cache, cache, cache].map(|ty| body.value(ty));
    let write = |from, to| Node { op: KvWrite.into(), ins: smallvec![from, x, rows], outs: smallvec![to] };
    body.nodes = vec![write(a, c), write(b, d)];
    (body.inputs, body.outputs) = (vec![x, rows, a, b], vec![c, d]);
    Op::Region(Arc::new(Fused { name: "write_both".to_owned(), body }))
}

/// Row i to place i of the first, and twice of it to place i of the second.
fn fill_both(tile: &mut Tile) -> Result<(), StepError> {
    assert_eq!([tile.ins[2].rows(), tile.ins[3].rows()], [0, 0], "states are reached through the results");
    for (i, out) in tile.outs.iter_mut().enumerate() {
        for row in 0..tile.sizes.rows {
            let x = tile.ins[0].row::<f32>(row)[0];
            out.row::<f32>(row).fill(x * (i + 1) as f32);
        }
    }
    Ok(())
}

#[test]
fn a_region_updates_several_states_in_place() {
    let cache = Type::f32(Dim::Slots { group: 0, heads: 1 }, COLS).state();
    let state = |id, value, write| {
        let (region, cut) = (Region::State(id), Cut::default());
        Arg { region, offset: 0, ty: cache, value, write, cut }
    };
    let rows = Arg { region: Region::Port(Port::ROWS), ty: STEP_ROWS, ..input() };
    let args = [input(), rows, state(0, 2, false), state(1, 3, false), state(0, 4, true), state(1, 5, true)];
    let write = Step { op: write_both(), ..step("write_both", usize::MAX, &args) };
    let slot = |name: &str| StateSlot { name: name.into(), ty: cache };
    let ports = vec![(Port::HIDDEN, TYPE), (Port::ROWS, STEP_ROWS)];
    let interface = Interface { states: vec![slot("a"), slot("b")], ports, ..Interface::default() };
    let bucket = Sizes { rows: ROWS, logit_rows: 0, slots: Slots::one_group(SLOTS) };
    let plan = Plan { interface: Arc::new(interface), bucket, ..plan(vec![write]) };

    let options = EngineOptions::default().with_kernel(kernel("write_both", fill_both, &[("kv_write", F64)]));
    let mut rig = Rig::new(&options, plan).unwrap();
    for (rows, wanted) in [(&[1.0, 2.0, 3.0][..], [1.0, 2.0, 3.0, 0.0]), (&[7.0], [7.0, 2.0, 3.0, 0.0])] {
        rig.feed(rows).unwrap();
        let ticket = rig.submit().unwrap();
        rig.queue.wait(ticket).unwrap();
        for (i, state) in rig.bind.states.iter().enumerate() {
            let mut found = vec![0f32; 4 * COLS];
            rig.queue.read(state, 0, bytemuck::cast_slice_mut(&mut found)).unwrap();
            let wanted = wanted.map(|x| x * (i + 1) as f32);
            assert_eq!(found.into_iter().step_by(COLS).collect::<Vec<_>>(), wanted, "state {i}");
        }
    }
}

/// A value, and a cache that is written head by head, by tiles of so many rows.
fn parts_plan(row_block: usize, cut: bool) -> Plan {
    let cache = Type::cache(0, DType::F32, 4, COLS / 4);
    let mut body = Body::default();
    let [x, rows, before, y, after] = [TYPE, STEP_ROWS, cache, TYPE, cache].map(|ty| body.value(ty));
    body.nodes = vec![
        Node { op: sum(1), ins: smallvec![x], outs: smallvec![y] },
        Node { op: KvWrite.into(), ins: smallvec![before, x, rows], outs: smallvec![after] },
    ];
    (body.inputs, body.outputs) = (vec![x, rows, before], vec![y, after]);
    let op = Op::Region(Arc::new(Fused { name: "parts".to_owned(), body }));
    let state = |value, write| {
        let cut = Cut { rows: false, cols: write && cut };
        Arg { region: Region::State(0), offset: 0, ty: cache, value, write, cut }
    };
    let rows = Arg { region: Region::Port(Port::ROWS), ty: STEP_ROWS, cut: Cut::default(), ..input() };
    let out = Arg { cut: Cut { rows: true, cols: true }, ..output(3) };
    let mut step = Step { op, ..step("parts", row_block, &[input(), rows, state(2, false), out, state(4, true)]) };
    (step.grid.col_block, step.grid.col_blocks) = (COLS / 4, 4);
    let states = vec![StateSlot { name: "a".into(), ty: cache }];
    let ports = vec![(Port::HIDDEN, TYPE), (Port::ROWS, STEP_ROWS), (Port::LOGITS, TYPE)];
    let bucket = Sizes { rows: ROWS, logit_rows: 0, slots: Slots::one_group(SLOTS) };
    Plan { interface: Arc::new(Interface { states, ports, ..Interface::default() }), bucket, ..plan(vec![step]) }
}

/// Fills the first places of the tile's heads with their number, and one more a place.
fn fill_parts(tile: &mut Tile) -> Result<(), StepError> {
    let [values, cache] = &mut *tile.outs else { panic!("not two results") };
    assert!(values.heads.is_empty(), "what is no cache has no heads");
    for head in cache.heads.clone() {
        for place in 0..tile.sizes.rows {
            bytemuck::cast_slice_mut(cache.head_bytes(head, place)).fill((10 * head + place) as f32);
        }
    }
    Ok(())
}

#[test]
fn tiles_write_heads_of_a_cache_if_each_has_all_rows() {
    let members = &[("map", F64), ("kv_write", F64)];
    let options = EngineOptions::default().threads(3).with_kernel(kernel("parts", fill_parts, members));
    let mut rig = Rig::new(&options, parts_plan(usize::MAX, true)).unwrap();
    rig.feed(&[1.0, 2.0]).unwrap();
    let ticket = rig.submit().unwrap();
    rig.queue.wait(ticket).unwrap();
    let mut found = vec![0f32; SLOTS * COLS];
    rig.queue.read(&rig.bind.states[0], 0, bytemuck::cast_slice_mut(&mut found)).unwrap();
    let rows = (0..4).flat_map(|head| (0..SLOTS).map(move |place| if place < 2 { 10 * head + place } else { 0 }));
    let wanted: Vec<f32> = rows.flat_map(|row| [row as f32; COLS / 4]).collect();
    assert_eq!(found, wanted);
    for plan in [parts_plan(4, true), parts_plan(usize::MAX, false)] {
        let tiles = plan.steps[0].grid.tiles(&plan.bucket);
        let fault = format!("state0{} is a state that {tiles} tiles write", if tiles == 8 { "/c" } else { "" });
        let error = refused(kernel("parts", fill_parts, members), plan);
        assert!(error.contains(&fault), "{error}");
    }
}

/// The encoding of the input, in blocks of so many columns.
fn encoded_plan(col_block: usize) -> Plan {
    let ty = Type::new(DType::Q8_A, TYPE.rows, COLS);
    let encoded = Arg { ty, cut: Cut { rows: true, cols: true }, ..own(1, true) };
    let op = Quantize { to: DType::Q8_A }.into();
    let mut step = Step { op, ..step("encode", ROWS, &[input(), encoded]) };
    (step.grid.col_block, step.grid.col_blocks) = (col_block, COLS.div_ceil(col_block));
    plan(vec![step])
}

#[test]
fn tiles_of_what_is_encoded_are_whole_blocks() {
    let kernel = || Kernel { implements: Pattern::Named("quantize"), ..kernel("encode", fill_pair, &[]) };
    assert!(Rig::new(&EngineOptions::default().with_kernel(kernel()), encoded_plan(32)).is_ok());
    let error = refused(kernel(), encoded_plan(48));
    assert!(error.contains("is cut into 48 columns, no whole blocks"), "{error}");
}

fn refused(kernel: Kernel, plan: Plan) -> String {
    Rig::new(&EngineOptions::default().with_kernel(kernel), plan).err().unwrap().to_string()
}

#[test]
fn a_kernel_does_all_members_of_its_region() {
    let error = refused(kernel("pair", fill_pair, &[("linear", F64)]), pair_plan(COLS / 2, 4));
    assert_eq!(error, "plan sums, step 0 (pair): kernel pair does not do map in pair");
}

#[test]
fn a_grid_covers_all_results_of_a_region() {
    let error = refused(kernel("pair", fill_pair, &[("map", F64)]), pair_plan(COLS / 2, 2));
    let fault = format!("plan sums, step 0 (pair): 2 blocks of {} columns, its results take 4", COLS / 2);
    assert_eq!(error, fault);
}

#[test]
fn products_in_a_region_read_what_their_kernel_wants() {
    let weight = Type::new(DType::Q8_0, Dim::N(COLS), COLS * 2);
    let (x, y) = (Type::f32(Dim::Rows, COLS * 2), TYPE);
    let mut body = Body::default();
    let [a, w, b, c] = [x, weight, y, y].map(|ty| body.value(ty));
    body.nodes = vec![
        Node { op: Linear.into(), ins: smallvec![a, w], outs: smallvec![b] },
        Node { op: sum(1), ins: smallvec![b], outs: smallvec![c] },
    ];
    (body.inputs, body.outputs) = (vec![a, w], vec![c]);
    let slot = WeightSlot { name: "w".into(), ty: weight, layout: Layout::FILE, numerics: F64 };
    let args = [Arg { ty: x, ..input() }, Arg { ty: weight, ..arg(Region::Weight(0), 0, 1, false) }, output(2)];
    let args = args.map(|a| Arg { cut: Cut::default(), ..a });
    let op = Op::Region(Arc::new(Fused { name: "linear_map".to_owned(), body }));
    let product = Step { op, ..step("product", usize::MAX, &args) };
    let ports = vec![(Port::HIDDEN, x), (Port::LOGITS, y)];
    let interface = Interface { weights: vec![slot], ports, ..Interface::default() };
    let plan = Plan { interface: Arc::new(interface), ..plan(vec![product]) };
    let kernel = |activations| {
        let members = &[("linear", F64), ("map", F64)];
        let implements = Pattern::Named("linear_map");
        Kernel { activations, implements, ..kernel("product", fill_pair, members) }
    };
    let fault = "plan sums, step 0 (linear_map): kernel product takes activations in Q8_A, not F32";
    assert_eq!(refused(kernel(Some(DType::Q8_A)), plan.clone()), fault);
    let narrow = Kernel { weights: &[DType::Q4_0], ..kernel(None) };
    assert_eq!(refused(narrow, plan), "plan sums, step 0 (linear_map): kernel product takes no Q8_0 weights");
}
