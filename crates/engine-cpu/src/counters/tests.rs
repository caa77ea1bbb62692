use super::*;
use inkstone_compute::{Arg, Cut, Grid, Interface, Plan, Region, Step};
use inkstone_tensor::ops::{Expr, Map, Term};
use inkstone_tensor::{Dim, Slots, Type};
use std::sync::Arc;

const BUCKET: Sizes = Sizes { rows: 10, logit_rows: 0, slots: Slots::one_group(0) };

/// Steps with a tile a row, each waiting for the one before it.
fn chain(steps: usize) -> TileProgram {
    chain_of(steps, BUCKET)
}

fn chain_of(steps: usize, bucket: Sizes) -> TileProgram {
    let ty = Type::f32(Dim::Rows, 16);
    let bytes = ty.bytes(&bucket);
    let step = |i: usize| {
        let arg = |value: usize, write| Arg {
            region: Region::Arena,
            offset: value as u64 * bytes,
            ty,
            value: value as u32,
            write,
            cut: Cut { rows: true, cols: false },
        };
        Step {
            op: Map(Expr::new(&[Term::In(0)])).into(),
            kernel: "map".to_owned(),
            args: [arg(i, false), arg(i + 1, true)].into_iter().collect(),
            grid: Grid { rows: Dim::Rows, row_block: 1, col_block: usize::MAX, col_blocks: 1 },
            scratch: 0..0,
            first: None,
            refused: Vec::new(),
        }
    };
    let (steps, arena_bytes) = ((0..steps).map(step).collect(), (steps as u64 + 1) * bytes);
    let interface = Arc::new(Interface::default());
    TileProgram::new(&Plan { name: "chain".to_owned(), bucket, steps, arena_bytes, interface })
}

fn tiles(worker: &mut Worker) -> Vec<Range<usize>> {
    let phase = worker.phase;
    let turns = std::iter::from_fn(|| match worker.next_turn() {
        Turn::Run { phase: p, tiles } if p == phase => Some(tiles),
        _ => None,
    });
    turns.collect()
}

#[test]
fn a_worker_takes_its_own_part_in_order_and_then_the_ends_of_the_others() {
    let program = chain(1);
    let counters = Counters::new(&program, 2, |_| 2);
    let (run, wide) = counters.begin(&program, &BUCKET);
    assert!(wide && counters.is_shared(0));
    let mut other = counters.worker(&program, run, 1);
    assert_eq!(other.next_turn(), Turn::Run { phase: 0, tiles: 5..8 });
    let mut worker = counters.worker(&program, run, 0);
    assert_eq!(tiles(&mut worker), [0..3, 3..5, 8..10]);
    assert!(!counters.is_finished(run) && !worker.take_completed());
    assert_eq!(other.next_turn(), Turn::Over);
    assert!(counters.is_finished(run) && other.take_completed() && !other.take_completed());
}

#[test]
fn claims_are_large_where_much_is_left() {
    let program = chain(1);
    let counters = Counters::new(&program, 2, |_| 1);
    let sizes = |rows| {
        let (run, _) = counters.begin(&program, &Sizes { rows, ..BUCKET });
        let mut worker = counters.worker(&program, run, 1);
        tiles(&mut worker).iter().map(Range::len).collect::<Vec<_>>()
    };
    // Its own share, then the other's.
    assert_eq!(sizes(80), [&[30, 7, 2, 1][..], &[20, 10, 5, 2, 1, 1, 1]].concat());
    assert_eq!(sizes(400)[..4], [64, 64, 54, 13]);
}

#[test]
fn claims_of_long_tiles_are_smaller() {
    let program = chain_of(1, Sizes { rows: 100, ..BUCKET });
    let counters = Counters::new(&program, 2, |_| 1);
    let (run, _) = counters.begin(&program, &Sizes { rows: 80, ..BUCKET });
    let mut worker = counters.worker(&program, run, 1);
    let sizes: Vec<usize> = tiles(&mut worker).iter().map(Range::len).collect();
    assert_eq!(sizes[..4], [10, 7, 5, 4]);
}

#[test]
fn nothing_is_claimed_before_it_may_run() {
    let program = chain(2);
    let counters = Counters::new(&program, 2, |_| 1);
    let (run, _) = counters.begin(&program, &BUCKET);
    let mut a = counters.worker(&program, run, 0);
    let mut b = counters.worker(&program, run, 1);
    assert_eq!(a.next_turn(), Turn::Run { phase: 0, tiles: 0..3 });
    assert_eq!(tiles(&mut b).iter().map(Range::len).sum::<usize>(), 7);
    assert_eq!((b.next_turn(), b.can_go_on()), (Turn::Wait, false));
    let seen = counters.progress(&program).to_string();
    let wanted = "phase 0 (map): 3 tiles open, 0 of them unclaimed\n\
        phase 1 (map): 10 tiles open, 10 of them unclaimed, waits for 0\n";
    assert_eq!(seen, wanted);
    // Its tiles have run; it is the one to go on, the other may as well.
    assert_eq!(a.next_turn(), Turn::Run { phase: 1, tiles: 0..3 });
    assert!(a.take_completed() && b.can_go_on());
    assert_eq!(b.next_turn(), Turn::Run { phase: 1, tiles: 5..8 });
}

#[test]
fn steps_that_are_too_small_are_not_shared() {
    let program = chain(3);
    let counters = Counters::new(&program, 4, |phase| [10, 5, 1][phase]);
    let run = |rows| counters.begin(&program, &Sizes { rows, ..BUCKET });
    let shared = || [0, 1, 2].map(|phase| counters.is_shared(phase));
    assert!(run(10).1);
    assert_eq!(shared(), [false, true, true]);
    assert!(run(5).1);
    assert_eq!(shared(), [false, false, true]);
    let (number, wide) = run(1);
    assert_eq!((wide, shared()), (false, [false; 3]));
    let mut worker = counters.worker(&program, number, 3);
    let turns: Vec<Turn> = std::iter::from_fn(|| Some(worker.next_turn()).filter(|t| *t != Turn::Over)).collect();
    let tile = |phase| Turn::Run { phase, tiles: 0..1 };
    assert_eq!(turns, [tile(0), tile(1), tile(2)]);
    assert!(counters.is_finished(number));
}

#[test]
fn a_worker_that_comes_late_claims_nothing_of_the_next_run() {
    let program = chain(2);
    let counters = Counters::new(&program, 1, |_| 3);
    let (run, _) = counters.begin(&program, &BUCKET);
    let mut late = counters.worker(&program, run, 0);
    let mut worker = counters.worker(&program, run, 0);
    while worker.next_turn() != Turn::Over {}
    assert!(counters.is_finished(run));
    let (next, _) = counters.begin(&program, &BUCKET);
    assert_ne!(run, next);
    assert!(counters.is_finished(run) && !counters.is_finished(next));
    // It finds no tile of its run, and waits for none of the other.
    assert_eq!(late.next_turn(), Turn::Over);
    let mut worker = counters.worker(&program, next, 0);
    // Nobody else has a share, so it takes all at once.
    assert_eq!(worker.next_turn(), Turn::Run { phase: 0, tiles: 0..10 });
    while worker.next_turn() != Turn::Over {}
    assert!(counters.is_finished(next));
}

#[test]
fn tiles_of_a_worker_that_gives_up_are_counted() {
    let program = chain(1);
    let counters = Counters::new(&program, 2, |_| 4);
    let (run, _) = counters.begin(&program, &BUCKET);
    for left in [6, 5, 1, 0] {
        let mut worker = counters.worker(&program, run, 0);
        assert!(matches!(worker.next_turn(), Turn::Run { .. }));
        drop(worker);
        assert_eq!((counters.unclaimed(0), counters.is_finished(run)), (left, left == 0));
    }
}
