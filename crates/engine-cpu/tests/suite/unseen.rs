//! A row of attention sees nothing of the positions behind its own: values there that are not finite change no bit.

use crate::rig::{Rig, input, output, plan};
use inkstone_compute::{Arg, EngineOptions, Grid, Interface, Plan, Port, Region, StateSlot, Step};
use inkstone_engine_cpu::Set;
use inkstone_tensor::cache::Cache;
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::{LogitWish, ROWS as STEP_ROWS, SeqStep, StepBuffer};
use inkstone_tensor::{DType, Dim, Sizes, Slots, Type};
use std::sync::Arc;

/// Of the rows of a step: around ends of blocks and of a segment.
const POSITIONS: [u32; 10] = [0, 5, 40, 62, 63, 64, 100, 2047, 2048, 2100];
const PAGE: usize = 64;
const PAGES: u32 = 34;
const PLACES: usize = PAGE * PAGES as usize;
const HEADS: usize = 6;
const KV_HEADS: usize = 2;
const DIM: usize = 32;
/// Values of a place in a cache.
const WIDTH: usize = KV_HEADS * DIM;

/// Attention alone, with caches of this dtype.
fn attention(set: Set, dtype: DType) -> Plan {
    let (x, cache) = (Type::f32(Dim::Rows, HEADS * DIM), Type::cache(0, dtype, KV_HEADS, DIM));
    let place = |region, ty, value| Arg { region, ty, value, ..input() };
    let args = [
        place(Region::Port(Port::HIDDEN), x, 0),
        place(Region::State(0), cache, 1),
        place(Region::State(1), cache, 2),
        place(Region::Port(Port::ROWS), STEP_ROWS, 3),
        Arg { ty: x, ..output(4) },
    ];
    let grid = Grid { rows: Dim::Rows, row_block: 16, col_block: usize::MAX, col_blocks: 1 };
    let args = args.map(|a| Arg { cut: grid.cut(&a.ty, a.write), ..a });
    let op = Attend { heads: HEADS, kv_heads: KV_HEADS, scale: 0.2 };
    let kernel = format!("attend.{}", set.name());
    let step = Step {
        op: op.into(),
        kernel,
        args: args.into_iter().collect(),
        grid,
        scratch: 0..0,
        first: None,
        refused: Vec::new(),
    };
    let states = ["keys", "values"].map(|name| StateSlot { name: name.into(), ty: cache }).to_vec();
    let ports = vec![(Port::HIDDEN, x), (Port::ROWS, STEP_ROWS), (Port::LOGITS, x)];
    let bucket = Sizes { rows: POSITIONS.len(), logit_rows: 0, slots: Slots::one_group(PLACES) };
    Plan { interface: Arc::new(Interface { states, ports, ..Interface::default() }), bucket, ..plan(vec![step]) }
}

/// Numbers from -1 to 1, none of them 0.
fn made_up(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 73 + seed) % 127) as f32 / 64.0 - 0.99).collect()
}

fn encoded(dtype: DType, values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; dtype.row_bytes(values.len()).unwrap()];
    dtype.info().encode.unwrap()(values, &mut bytes);
    bytes
}

/// The step's queries and rows.
fn feed(rig: &mut Rig) {
    let (pages, tokens) = (Vec::from_iter(0..PAGES), [0; POSITIONS.len()]);
    let mut step = StepBuffer::with_capacity(PAGE, tokens.len(), pages.len(), 0);
    step.push(&SeqStep { slot: 0, tokens: &tokens, tables: &[&pages], logits: LogitWish::None, sampler: None });
    rig.queue.write(&rig.bind.step, 0, bytemuck::cast_slice(step.encode(0, 0))).unwrap();
    let rows = POSITIONS.map(|position| [0, position, 0]);
    let x = made_up(POSITIONS.len() * HEADS * DIM, 5);
    rig.queue.write(&rig.bind.ports[0].1, 0, bytemuck::cast_slice(&x)).unwrap();
    rig.queue.write(&rig.bind.ports[1].1, 0, bytemuck::cast_slice(rows.as_flattened())).unwrap();
}

/// The bits of the results of all rows.
fn results(rig: &mut Rig, caches: &[Vec<u8>; 2]) -> Vec<u32> {
    for (state, cache) in rig.bind.states.iter().zip(caches) {
        rig.queue.write(state, 0, cache).unwrap();
    }
    let ticket = rig.submit().unwrap();
    rig.queue.wait(ticket).unwrap();
    let mut found = vec![0; POSITIONS.len() * HEADS * DIM];
    rig.queue.read(&rig.bind.ports[2].1, 0, bytemuck::cast_slice_mut(&mut found)).unwrap();
    found
}

#[test]
fn values_behind_a_row_change_no_bit_of_it_even_if_they_are_not_finite() {
    for set in Set::ALL.into_iter().filter(|set| set.is_here()) {
        for dtype in [DType::F32, DType::F16, DType::BF16, DType::Q8_0] {
            let mut rig = Rig::new(&EngineOptions::default().isa(set.name()), attention(set, dtype)).unwrap();
            feed(&mut rig);
            let caches = [1, 2].map(|seed| encoded(dtype, &made_up(PLACES * WIDTH, seed)));
            let wanted = results(&mut rig, &caches);
            assert!(wanted.iter().all(|y| f32::from_bits(*y).is_finite() && *y != 0), "{dtype} on {}", set.name());
            let (bytes, lie) = (dtype.row_bytes(DIM).unwrap(), Cache { heads: KV_HEADS, slots: PLACES });
            for poison in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(|x| encoded(dtype, &[x; DIM])) {
                for (row, position) in POSITIONS.into_iter().enumerate() {
                    let mut caches = caches.clone();
                    for cache in &mut caches {
                        for place in position as usize + 1..PLACES {
                            let rows = (0..KV_HEADS).map(|head| lie.row(head, place));
                            rows.for_each(|row| cache[row * bytes..][..bytes].copy_from_slice(&poison));
                        }
                    }
                    let found = results(&mut rig, &caches);
                    let same = found.iter().zip(&wanted).take_while(|(a, b)| a == b).count();
                    let seen = same / (HEADS * DIM);
                    assert!(seen > row, "row {seen} sees beyond position {position}: {dtype} on {}", set.name());
                }
            }
        }
    }
}
