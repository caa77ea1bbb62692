//! Random graphs of what fusion looks for, with values that others read, too: fused plans compute what the graphs mean.

use crate::common::*;
use inkstone_compute::{Caps, Port, Registry};
use inkstone_graph::{Graph, Kind, State, Tracer, Value, Wants, compile, fusions};
use inkstone_tensor::ops::{Attend, Pairs, Rope, Window};
use inkstone_tensor::{Array, DType};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Operation, operands, and how it is done.
type Code = [(u8, usize, usize, usize)];

const CASES: u32 = 128;

fn weights(dtype: DType) -> Tensors {
    let mut w = Tensors::default();
    w.add("table", dtype, &[WIDTH, VOCAB]);
    (0..4).for_each(|i| w.add(&format!("w{i}"), dtype, &[WIDTH, WIDTH]));
    w.add("bias", DType::F32, &[WIDTH]);
    w.add("norm", DType::F32, &[WIDTH]);
    w.add("norm_of_head", DType::F32, &[HEAD_DIM]);
    w
}

/// Instructions that pick operands among the values so far.
fn graph(w: &Tensors, code: &Code) -> Graph {
    let t = Tracer::new("random", w);
    let carry = t.carry();
    let rows = t.begin_step(&carry).unwrap();
    let mut values = vec![t.embed(rows, t.weight("table", VOCAB, WIDTH).unwrap()).unwrap()];
    let mut states: Vec<State> = Vec::new();
    for &(op, a, b, how) in code {
        // Rather the newest values than others.
        let pick = |i: usize| values[values.len() - 1 - (i % values.len()).min(i / 64 % 4)];
        let (a, b) = (pick(a), pick(b));
        let norm = t.vector("norm", WIDTH).unwrap();
        let linear = |x: Value, how: usize| {
            let bias = how.is_multiple_of(3).then(|| t.vector("bias", WIDTH).unwrap());
            t.linear(x, t.weight(&format!("w{}", how % 4), WIDTH, WIDTH).unwrap(), bias).unwrap()
        };
        match op % 12 {
            0 => values.push(t.add(a, b).unwrap()),
            1 => values.push(t.silu(a).unwrap()),
            2 => values.push(t.mul(a, b).unwrap()),
            3 => values.push(t.layer_norm(a, norm, t.vector("bias", WIDTH).unwrap(), 1e-5).unwrap()),
            4 | 5 => values.push(t.rms_norm(a, norm, 1e-5).unwrap()),
            6 => {
                let gate = t.silu(linear(a, how)).unwrap();
                values.push(t.mul(gate, linear(a, how / 7)).unwrap());
            }
            7 => values.push(t.add(b, linear(a, how)).unwrap()),
            8 if states.len() < 8 => {
                let (q, k) = (linear(a, how), linear(a, how / 7));
                let made = attention(&t, [q, k, b], rows, how, &mut states);
                values.push(made[how % made.len()]);
            }
            _ => values.push(linear(a, how)),
        }
    }
    states.into_iter().for_each(|s| t.keep(s));
    t.keep(t.advance(carry, rows).unwrap());
    t.output(Port::HIDDEN, t.silu(*values.last().unwrap()).unwrap());
    t.finish().unwrap()
}

/// What attention makes, and what it passes by.
fn attention(t: &Tracer, [q, k, v]: [Value; 3], rows: Value, how: usize, states: &mut Vec<State>) -> Vec<Value> {
    let rope = Rope { head_dim: HEAD_DIM, frequencies: [1.0, 0.1].into(), magnitude: 1.0, pairs: Pairs::Halves };
    let norm = |x| match how % 2 {
        0 => t.rms_norm(x, t.vector("norm_of_head", HEAD_DIM).unwrap(), 1e-5).unwrap(),
        _ => x,
    };
    let (q, k) = (t.rope(norm(q), rows, &rope).unwrap(), t.rope(norm(k), rows, &rope).unwrap());
    // Caches of their own, or those that others have written and read.
    let n = states.len();
    let cache = |name: &str| t.cache(&format!("{name}{n}"), 0, DType::F32, HEADS, HEAD_DIM);
    let last = if how.is_multiple_of(3) { states.pop().zip(states.pop()) } else { None };
    let (cached, keys) = last.unwrap_or_else(|| (cache("v"), cache("k")));
    // The values may come from the turned keys.
    let v = if how.is_multiple_of(5) { k } else { v };
    let keys = t.kv_write(keys, k, rows).unwrap();
    let cached = t.kv_write(cached, v, rows).unwrap();
    let window = (how % 4 > 1).then_some(Window { size: 1 + how % 5, first: how % 3 });
    let attend = Attend { heads: HEADS, kv_heads: HEADS, scale: 0.3, window };
    let made = t.attend(q, &keys, &cached, rows, attend).unwrap();
    states.extend([keys, cached]);
    vec![made, made, made, q, k]
}

/// What some steps leave behind, and the lines of the report.
fn run(g: &Graph, weights: &Tensors, registry: &Registry, without: &[String]) -> (Vec<Array>, String) {
    let compiled = compile(&[(Kind::BODY, g)], &Caps::made_up("made-up"), registry, SLOTS, without).unwrap();
    for plan in compiled.plans(Kind::BODY) {
        plan.check().unwrap();
    }
    let mut machine = Machine::new(compiled.interface(), weights, SLOTS);
    let mut seen = Vec::new();
    for parts in &STEPS[1..3] {
        let (rows, _, words) = words(parts);
        machine.run(&compiled.step(rows, 0, &Wants::CHUNK.kinds()).unwrap(), &words);
        seen.push(machine.ports[&Port::HIDDEN].clone());
    }
    seen.extend(compiled.interface().states.iter().map(|s| machine.state(&s.name).clone()));
    (seen, compiled.report().to_string())
}

/// The same by the meaning of the graph.
fn interpreted(g: &Graph, weights: &Tensors) -> Vec<Array> {
    let mut eager = Eager::new(weights, SLOTS);
    STEPS[1..3]
        .iter()
        .map(|parts| {
            eager.run(g, &words(parts).2);
            eager.ports[&Port::HIDDEN].clone()
        })
        .collect()
}

fn bits(arrays: &[Array]) -> Vec<&[u8]> {
    arrays.iter().map(Array::bytes).collect()
}

#[test]
fn fused_graphs_mean_what_they_meant() {
    let all: Vec<String> = fusions().map(str::to_owned).collect();
    let fired: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let (plain, encoded) = (weights(DType::F32), weights(DType::Q8_0));
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    // The same graphs each time, so that the counts below are, too.
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let code = prop::collection::vec(any::<(u8, usize, usize, usize)>(), 1..24);
    let checked = TestRunner::new_with_rng(config, random).run(&code, |code| {
        let g = graph(&plain, &code);
        let (found, _) = run(&g, &plain, &fused_reference(), &[]);
        prop_assert!(bits(&found).starts_with(&bits(&interpreted(&g, &plain))), "without encodings");

        let g = graph(&encoded, &code);
        let (wanted, _) = run(&g, &encoded, &fused(), &all);
        let (found, report) = run(&g, &encoded, &fused(), &[]);
        prop_assert!(bits(&found) == bits(&wanted), "all fusions\n{report}");
        for off in &all {
            let (found, _) = run(&g, &encoded, &fused(), std::slice::from_ref(off));
            prop_assert!(bits(&found) == bits(&wanted), "without {off}");
            if report.contains(&format!(" {off} by ")) {
                *fired.borrow_mut().entry(off.clone()).or_default() += 1;
            }
        }
        Ok(())
    });
    checked.unwrap();
    for name in &all {
        let count = fired.borrow().get(name).copied().unwrap_or(0);
        assert!(count >= 8, "{name} came about in {count} of {CASES} graphs: {:?}", fired.borrow());
    }
}
