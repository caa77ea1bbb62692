//! Attention with a window: its type, its text, and its cost. Its values are compared by the conformance suite.

use inkstone_tensor::ops::{Attend, Window};
use inkstone_tensor::step::ROWS;
use inkstone_tensor::{DType, Dim, Op, Sizes, Slots, Type};

/// Query heads, KV heads, values of a head.
const HEADS: (usize, usize, usize) = (4, 2, 8);

fn op(window: Option<Window>) -> Op {
    Attend { heads: HEADS.0, kv_heads: HEADS.1, scale: 0.5, window }.into()
}

fn operands() -> [Type; 4] {
    let cache = Type::cache(0, DType::F32, HEADS.1, HEADS.2);
    [Type::f32(Dim::Rows, HEADS.0 * HEADS.2), cache, cache, ROWS]
}

/// Bytes of caches and products, for so many rows of a step and places of a cache.
fn cost(window: Option<Window>, rows: usize, slots: usize) -> (u64, u64) {
    let sizes = Sizes { rows, logit_rows: 0, slots: Slots::one_group(slots) };
    let (op, ins) = (op(window), operands());
    let outs = op.infer(&ins).unwrap();
    let cost = op.cost(&ins, &outs, &sizes);
    let values = 4 * (rows * 2 * HEADS.0 * HEADS.2) as u64;
    (cost.bytes - values, cost.flops)
}

#[test]
fn a_window_has_a_position_at_least_and_shows_in_the_text() {
    let text = |window| op(window).to_string();
    let plain = text(None);
    assert!(plain.contains("scale 0.5") && !plain.contains("window"), "{plain}");
    assert!(text(Some(Window { size: 9, first: 0 })).contains("scale 0.5, window 9)"));
    assert!(text(Some(Window { size: 9, first: 4 })).contains("scale 0.5, window 9 and the first 4)"));
    let error = op(Some(Window { size: 0, first: 4 })).infer(&operands()).unwrap_err();
    assert!(error.to_string().contains("a window of at least 1 position"), "{error}");
}

#[test]
fn the_cost_is_of_what_rows_see() {
    // Keys and values of a position, in both heads; two products a value for each query head.
    let bytes = (2 * 2 * 8 * 4) as u64;
    let flops = (2 * 2 * 2 * 2 * 8) as u64;
    for (window, rows, slots, read, seen) in [
        (None, 1, 1000, 1000, 1000),
        (Some(Window { size: 9, first: 0 }), 1, 1000, 9, 9),
        (Some(Window { size: 9, first: 4 }), 1, 1000, 13, 13),
        (Some(Window { size: 9, first: 4 }), 3, 1000, 39, 13),
        (Some(Window { size: 9, first: 4 }), 500, 1000, 1000, 13),
        (Some(Window { size: 9, first: 4 }), 2, 5, 5, 5),
        (Some(Window { size: usize::MAX, first: usize::MAX }), 2, 1000, 1000, 1000),
    ] {
        let wanted = (bytes * read, flops * seen * rows as u64);
        assert_eq!(cost(window, rows, slots), wanted, "{window:?}, {rows} rows, {slots} places");
    }
}
