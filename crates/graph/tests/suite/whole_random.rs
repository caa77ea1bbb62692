//! Random graphs with all that graphs can have: states, history, both ragged dimensions, several inputs and outputs, ops
//! with several results, values in two encodings. Plans compute the bits of the interpreted graphs.

use crate::common::*;
use inkstone_compute::{Caps, Port, Registry};
use inkstone_graph::{Compiled, Graph, Kind, State, Tracer, Value, Wants, compile};
use inkstone_tensor::body::ValueId;
use inkstone_tensor::ops::Attend;
use inkstone_tensor::{Array, DType, Dim, Op, Type};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Operation, operands, and how it is done.
type Code = [(u8, usize, usize, usize)];

const CASES: u32 = 128;
/// Whole blocks of every encoding; also the ids that may be drawn.
const WIDE: usize = 256;
const NARROW: usize = 64;
/// Weights whose products want different encodings.
const KINDS: [DType; 2] = [DType::Q8_0, DType::F16];

fn weights() -> Tensors {
    let mut w = Tensors::default();
    w.add("table", DType::F32, &[WIDE, WIDE]);
    for i in 0..2 {
        KINDS.iter().for_each(|d| w.add(&format!("{d}.{i}"), *d, &[WIDE, NARROW]));
        w.add(&format!("widen.{i}"), DType::F32, &[NARROW, WIDE]);
    }
    [WIDE, NARROW].iter().for_each(|n| w.add(&format!("norm.{n}"), DType::F32, &[*n]));
    w
}

/// A graph that is being written.
struct Writer<'t, 'w> {
    t: &'t Tracer<'w>,
    /// Whether products read their activations as the engine of two encodings does.
    encodes: bool,
    rows: Value,
    /// Of f32.
    values: Vec<Value>,
    /// What `sample` and `score` made.
    drawn: Vec<Value>,
    caches: Vec<State>,
    history: State,
    carry: State,
}

/// Instructions that pick operands among the values so far. What can't be is something else instead.
fn graph(w: &Tensors, code: &Code, encodes: bool) -> Graph {
    let t = Tracer::new("random", w);
    let (carry, history) = (t.carry(), t.history());
    let rows = t.begin_step(&carry).unwrap();
    let tokens = t.embed(rows, t.weight("table", WIDE, WIDE).unwrap()).unwrap();
    let ports = [(Port::HIDDEN, Dim::Rows, WIDE), (Port::SCORES, Dim::LogitRows, NARROW)];
    let inputs = ports.map(|(port, rows, cols)| t.input(port, Type::f32(rows, cols)));
    let values = inputs.into_iter().chain([tokens]).collect();
    let mut g = Writer { t: &t, encodes, rows, values, drawn: Vec::new(), caches: Vec::new(), history, carry };
    for &instruction in code {
        g = g.step(instruction);
    }
    let Writer { values, drawn, caches, history, carry, .. } = g;
    caches.into_iter().chain([history, t.advance(carry, rows).unwrap()]).for_each(|s| t.keep(s));
    t.output(Port::ROWS, rows);
    // Without the inputs, which no graph gives back as they are.
    let mut newest = values.into_iter().skip(2).rev();
    t.output(Port::LOGITS, newest.next().unwrap());
    if let Some(other) = drawn.last().copied().or_else(|| newest.next()) {
        t.output(Port::RECORDS, other);
    }
    t.finish().unwrap()
}

impl Writer<'_, '_> {
    /// Rather the newest values than others.
    fn pick(&self, i: usize, fits: impl Fn(Type) -> bool) -> Option<Value> {
        let fitting: Vec<Value> = self.values.iter().rev().copied().filter(|v| fits(v.ty())).collect();
        fitting.get((i % fitting.len().max(1)).min(i / 64 % 4)).copied()
    }

    fn linear(&self, x: Value, kind: DType, how: usize) -> Value {
        let t = self.t;
        let x = if self.encodes { t.quantize(x, encoding_for(kind).unwrap()).unwrap() } else { x };
        t.linear(x, t.weight(&format!("{kind}.{}", how % 2), NARROW, WIDE).unwrap(), None).unwrap()
    }

    fn step(mut self, (op, a, b, how): (u8, usize, usize, usize)) -> Self {
        let t = self.t;
        let any = self.pick(a, |_| true).unwrap();
        let alike = self.pick(b, |ty| ty == any.ty()).unwrap();
        let of = |i, rows, cols| self.pick(i, |ty| (ty.rows, ty.cols) == (rows, cols));
        let wide = self.pick(a, |ty| ty.cols == WIDE).unwrap();
        match op % 16 {
            0 => self.values.push(t.add(any, alike).unwrap()),
            1 => self.values.push(t.mul(any, alike).unwrap()),
            2 => {
                let norm = t.vector(&format!("norm.{}", any.ty().cols), any.ty().cols).unwrap();
                self.values.push(t.rms_norm(any, norm, 1e-5).unwrap());
            }
            3 => self.values.push(self.linear(wide, KINDS[how % 2], how / 2)),
            4 | 5 => {
                let both = [how % 2, 1 - how % 2].map(|i| self.linear(wide, KINDS[i], how / 2));
                self.values.push(t.add(both[0], both[1]).unwrap());
            }
            6 | 7 => {
                let x = self.pick(a, |ty| ty.cols == NARROW).unwrap();
                let w = t.weight(&format!("widen.{}", how % 2), WIDE, NARROW).unwrap();
                self.values.push(t.linear(x, w, None).unwrap());
            }
            8 => self.values.push(t.gather_rows(of(a, Dim::Rows, WIDE).unwrap()).unwrap()),
            9 => self.several(sum_and_product(any.ty()), &[any, alike], how),
            10 => self.several(parts(wide.ty(), WIDE / NARROW), &[wide], how),
            11 => {
                let x = self.pick(a, |ty| ty.rows == Dim::Rows).unwrap();
                self.several(chosen_and_all(x.ty()), &[x], how);
            }
            12 if self.caches.len() < 8 => {
                let narrow = |i| of(i, Dim::Rows, NARROW);
                match (narrow(a), narrow(b), narrow(how)) {
                    (Some(q), Some(k), Some(v)) => self.attention([q, k, v], how),
                    _ => self.values.push(self.linear(of(a, Dim::Rows, WIDE).unwrap(), KINDS[0], how)),
                }
            }
            13 => self.history = t.history_write(self.history, self.rows).unwrap(),
            14 => {
                let logits = self.pick(a, |ty| ty.rows == Dim::LogitRows).unwrap();
                let records = t.sample(logits, self.rows, &self.history).unwrap();
                self.drawn.push(records);
                match how % 3 {
                    0 => self.carry = t.accept(self.carry, records).unwrap(),
                    1 => self.drawn.push(t.score(logits, records).unwrap()),
                    _ => {}
                }
            }
            _ => self.values.push(t.silu(any).unwrap()),
        }
        self
    }

    /// An op with several results, of which some can be read afterwards; perhaps twice, with other results of each.
    fn several(&mut self, op: Op, operands: &[Value], how: usize) {
        let made = self.t.op(op.clone(), operands).unwrap();
        let last = made.len() - 1;
        match how % 6 {
            0 => self.values.push(made[0]),
            1 => self.values.push(made[last]),
            2 => {}
            3 => self.values.extend(&made[1..]),
            4 => {
                let again = self.t.op(op, operands).unwrap();
                self.values.extend([made[0], again[last]]);
            }
            _ => self.values.extend(made),
        }
    }

    fn attention(&mut self, [q, k, v]: [Value; 3], how: usize) {
        let (t, n) = (self.t, self.caches.len());
        let group = how / 3 % 2;
        let heads = |name: &str, dtype| t.cache(&format!("{name}{n}"), group, dtype, HEADS, NARROW / HEADS);
        // Caches of their own, or those that others have written and read.
        let last = if how.is_multiple_of(3) { self.caches.pop().zip(self.caches.pop()) } else { None };
        let (values, keys) = last.unwrap_or_else(|| (heads("v", DType::F32), heads("k", DType::F16)));
        let keys = t.kv_write(keys, k, self.rows).unwrap();
        let values = t.kv_write(values, v, self.rows).unwrap();
        let attend = Attend { heads: HEADS, kv_heads: HEADS, scale: 0.3, window: None };
        self.values.push(t.attend(q, &keys, &values, self.rows, attend).unwrap());
        self.caches.extend([keys, values]);
    }
}

/// Runs some steps both ways and compares ports and states after each.
fn same(g: &Graph, meaning: &Graph, w: &Tensors, registry: &Registry) -> Result<Compiled, TestCaseError> {
    let mut caps = Caps::made_up("made-up");
    (caps.rows, caps.logit_rows) = (vec![1, 8, 16], vec![16]);
    let compiled = compile(&[(Kind::BODY, g)], &caps, registry, SLOTS, &[]);
    let compiled = compiled.map_err(|e| TestCaseError::fail(format!("{}: {e}", registry.engine)))?;
    let (mut eager, mut machine) = (Eager::new(w, SLOTS), Machine::new(compiled.interface(), w, SLOTS));
    for (i, parts) in STEPS[..4].iter().enumerate() {
        let (rows, logit_rows, words) = words(parts);
        let mut uniform = uniform(&format!("step {i}"));
        for (port, rows, cols) in [(Port::HIDDEN, rows, WIDE), (Port::SCORES, logit_rows, NARROW)] {
            let x = Array::from_rows(rows, cols, |_, row| row.iter_mut().for_each(|x| *x = uniform()));
            eager.ports.insert(port, x.clone());
            machine.ports.insert(port, x);
        }
        eager.run(meaning, &words);
        machine.run(&compiled.step(rows, logit_rows, &Wants::CHUNK.kinds()).unwrap(), &words);
        let at = format!("{}, step {i}", registry.engine);
        for (port, array) in &eager.ports {
            prop_assert!(machine.ports[port].bytes() == array.bytes(), "{at}: {port:?}\n{g}");
        }
        for state in &compiled.interface().states {
            let (found, wanted) = (machine.state(&state.name), &eager.states[&*state.name]);
            prop_assert!(found.bytes() == wanted.bytes(), "{at}: {}\n{g}", state.name);
        }
    }
    Ok(compiled)
}

/// What a compiled graph has of that which the tests are about.
fn features(g: &Graph, compiled: &Compiled) -> BTreeSet<String> {
    let steps = &compiled.plans(Kind::BODY)[1].steps;
    let mut features: BTreeSet<String> = steps.iter().map(|s| s.op.name().to_owned()).collect();
    let read: BTreeSet<u32> = steps.iter().flat_map(|s| s.ins()).map(|a| a.value).collect();
    for step in steps.iter().filter(|s| SEVERAL.contains(&s.op.name())) {
        let used = |a: &inkstone_compute::Arg| read.contains(&a.value) || a.region != inkstone_compute::Region::Arena;
        let used: Vec<bool> = step.outs().map(used).collect();
        features.insert(match &used[..] {
            used if used.iter().all(|u| *u) => "all results".to_owned(),
            [true, rest @ ..] if !rest.contains(&true) => "the first result".to_owned(),
            [rest @ .., true] if !rest.contains(&true) => "the last result".to_owned(),
            _ => "some results".to_owned(),
        });
    }
    let read: BTreeSet<ValueId> = g.body().nodes.iter().flat_map(|n| n.ins.iter().copied()).collect();
    let unread = |v: &ValueId| !read.contains(v) && !g.body().outputs.contains(v);
    if g.body().nodes.iter().any(|n| n.outs.len() > 1 && n.outs.iter().all(unread)) {
        features.insert("no result".to_owned());
    }
    let mut encoded: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for step in steps.iter().filter(|s| matches!(s.op, Op::Quantize(_))) {
        encoded.entry(step.args[0].value).or_default().insert(step.op.attributes());
    }
    if encoded.values().any(|to| to.len() > 1) {
        features.insert("two encodings".to_owned());
    }
    features
}

const FEATURES: [&str; 19] = [
    "kv_write",
    "attend",
    "history_write",
    "sample",
    "score",
    "accept",
    "gather_rows",
    "linear",
    "quantize",
    "map",
    SEVERAL[0],
    SEVERAL[1],
    SEVERAL[2],
    "all results",
    "some results",
    "the first result",
    "the last result",
    "no result",
    "two encodings",
];

#[test]
fn plans_of_graphs_with_states_several_results_and_two_encodings_are_their_graphs() {
    let w = weights();
    let found: RefCell<BTreeMap<String, usize>> = RefCell::default();
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    // The same graphs each time, so that the counts below are, too.
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let code = prop::collection::vec(any::<(u8, usize, usize, usize)>(), 1..40);
    let checked = TestRunner::new_with_rng(config, random).run(&code, |code| {
        let (g, encoded) = (graph(&w, &code, false), graph(&w, &code, true));
        same(&g, &g, &w, &with_several(reference()))?;
        let compiled = same(&g, &encoded, &w, &encodings())?;
        same(&g, &encoded, &w, &fused_encodings())?;
        features(&g, &compiled).into_iter().for_each(|f| *found.borrow_mut().entry(f).or_default() += 1);
        Ok(())
    });
    checked.unwrap();
    for feature in FEATURES {
        let count = found.borrow().get(feature).copied().unwrap_or(0);
        assert!(count >= 8, "{feature} came about in {count} of {CASES} graphs: {:?}", found.borrow());
    }
}
