//! Plans do what graphs mean: bit for bit, over ragged steps, with made-up engines.

use crate::common::*;
use inkstone_compute::{Caps, Kernel, Pattern, Registry};
use inkstone_graph::{Compiled, Error, Graph, Kind, Tracer, Wants, compile};
use inkstone_tensor::{DType, Slots};

fn compiled(graphs: &[(Kind, Graph)], registry: &Registry) -> Result<Compiled, Error> {
    compile(graphs, &Caps::made_up("made-up"), registry, SLOTS, &[])
}

/// Runs the steps both ways and compares states and ports after each.
fn assert_plans_are_their_graphs(weights: &Tensors, kinds: &[Kind]) {
    let graphs = llama(weights).unwrap();
    let compiled = compiled(&graphs, &reference()).unwrap();
    let mut eager = Eager::new(weights, SLOTS);
    let mut machine = Machine::new(compiled.interface(), weights, SLOTS);
    let mut drawn = 0;
    for (i, parts) in STEPS.iter().enumerate() {
        let (rows, logit_rows, words) = words(parts);
        let kinds = if logit_rows == 0 { &Wants::CHUNK.kinds() } else { kinds };
        for (_, g) in graphs.iter().filter(|(kind, _)| kinds.contains(kind)) {
            eager.run(g, &words);
        }
        machine.run(&compiled.step(rows, logit_rows, kinds).unwrap(), &words);
        assert_eq!(machine.ports, eager.ports, "step {i}");
        eager.states.iter().for_each(|(name, array)| assert!(machine.state(name) == array, "{name} after step {i}"));
        drawn += machine.ports.get(&inkstone_compute::Port::RECORDS).map_or(0, |r| r.rows());
    }
    let hidden = machine.ports[&inkstone_compute::Port::HIDDEN].all::<f32>();
    assert!(hidden.iter().all(|x| x.is_finite() && *x != 0.0), "{hidden:?}");
    assert!(drawn > 10 || !kinds.contains(&Kind::SELECT));
}

#[test]
fn plans_are_their_graphs_for_a_tied_model() {
    assert_plans_are_their_graphs(&Tensors::llama(DType::Q8_0, true), &Wants::TOKENS.kinds());
}

#[test]
fn plans_are_their_graphs_for_an_untied_model_with_scores() {
    assert_plans_are_their_graphs(&Tensors::llama(DType::F32, false), &Wants::SCORES.kinds());
}

#[test]
fn every_bucket_gives_the_same_bits() {
    let weights = Tensors::llama(DType::Q8_0, true);
    let compiled = compiled(&llama(&weights).unwrap(), &fast()).unwrap();
    let machine = || Machine::new(compiled.interface(), &weights, SLOTS);
    let (mut small, mut large) = (machine(), machine());
    for parts in &STEPS[1..] {
        let (rows, logit_rows, words) = words(parts);
        small.run(&compiled.step(rows, logit_rows, &Wants::TOKENS.kinds()).unwrap(), &words);
        large.run(&compiled.step(512, 64, &Wants::TOKENS.kinds()).unwrap(), &words);
        assert_eq!(small.ports, large.ports);
    }
}

#[test]
fn linked_plans_are_their_parts() {
    let weights = Tensors::llama(DType::F16, true);
    let compiled = compiled(&llama(&weights).unwrap(), &reference()).unwrap();
    let (mut linked, mut parts) =
        (Machine::new(compiled.interface(), &weights, SLOTS), Machine::new(compiled.interface(), &weights, SLOTS));
    for step in &STEPS[1..2] {
        let (rows, logit_rows, words) = words(step);
        linked.run(&compiled.step(rows, logit_rows, &Wants::TOKENS.kinds()).unwrap(), &words);
        Wants::TOKENS.kinds().iter().for_each(|k| parts.run(&compiled.step(rows, logit_rows, &[*k]).unwrap(), &words));
        assert_eq!(linked.ports, parts.ports);
    }
}

#[test]
fn steps_take_the_smallest_buckets_that_hold_them() {
    let compiled = compiled(&llama(&Tensors::llama(DType::F32, true)).unwrap(), &reference()).unwrap();
    let bucket = |rows, logit_rows, kinds: &[Kind]| {
        let plan = compiled.step(rows, logit_rows, kinds).unwrap();
        (plan.name, plan.bucket.rows, plan.bucket.logit_rows)
    };
    assert_eq!(bucket(2, 1, &Wants::TOKENS.kinds()), ("body+head+select".to_owned(), 8, 1));
    assert_eq!(bucket(9, 0, &Wants::CHUNK.kinds()), ("body".to_owned(), 512, 64));
    assert_eq!(bucket(9, 5, &[Kind::HEAD, Kind::SELECT]), ("head+select".to_owned(), 512, 8));
    let error = |rows, logits, kinds: &[Kind]| compiled.step(rows, logits, kinds).unwrap_err().to_string();
    assert_eq!(error(513, 1, &Wants::TOKENS.kinds()), "rows of a step: 513, the largest plan has room for 512");
    assert_eq!(error(513, 1, &[Kind::HEAD]), "rows of a step: 513, the largest plan has room for 512");
    assert_eq!(error(1, 65, &Wants::LOGITS.kinds()), "logit rows of a step: 65, the largest plan has room for 64");
    assert_eq!(error(1, 1, &[]), "a step needs at least one kind of plan");
}

#[test]
fn kinds_that_are_not_there_are_errors() {
    let graphs = llama(&Tensors::llama(DType::F32, true)).unwrap();
    let some = compiled(&graphs[..1], &reference()).unwrap();
    let error = some.step(1, 1, &Wants::LOGITS.kinds()).unwrap_err().to_string();
    assert_eq!(error, "0 graphs of kind head were compiled, expected 1");
    let twice = [(Kind::BODY, &graphs[0].1), (Kind::BODY, &graphs[1].1)];
    let error = compile(&twice, &Caps::made_up("made-up"), &reference(), SLOTS, &[]).unwrap_err().to_string();
    assert_eq!(error, "2 graphs of kind body were compiled, expected 1");
}

#[test]
fn caches_in_a_group_without_places_are_errors() {
    let weights = Tensors::llama(DType::F32, true);
    let t = Tracer::new("body", &weights);
    let carry = t.carry();
    let rows = t.begin_step(&carry).unwrap();
    let x = t.embed(rows, t.weight("token_embd.weight", VOCAB, WIDTH).unwrap()).unwrap();
    t.keep(t.kv_write(t.cache("k", 3, DType::F16, 1, WIDTH), x, rows).unwrap());
    t.keep(t.advance(carry, rows).unwrap());
    let graphs = [(Kind::BODY, t.finish().unwrap())];
    let wanted = "state k is in layer group 3, which has no places";
    assert_eq!(compiled(&graphs, &reference()).unwrap_err().to_string(), wanted);
    let caps = Caps::made_up("made-up");
    let all = compile(&graphs, &caps, &reference(), Slots::every_group(1), &[]).unwrap();
    assert_eq!(all.clone().with_slots(SLOTS).unwrap_err().to_string(), wanted);
    // The number of places is the only difference.
    let many = Slots::every_group(640);
    let direct = compile(&graphs, &caps, &reference(), many, &[]).unwrap();
    let later = all.with_slots(many).unwrap();
    assert_eq!(later.plans(Kind::BODY), direct.plans(Kind::BODY));
    assert_eq!(later.largest(), direct.largest());
}

#[test]
fn engines_without_kernels_or_buckets_are_errors() {
    let graphs = llama(&Tensors::llama(DType::Q8_0, true)).unwrap();
    let mut small = reference();
    small.kernels[0].rows = 8;
    let error = compiled(&graphs, &small).unwrap_err().to_string();
    assert!(error.contains("tensor blk.0.attn_q.weight (Q8_0)") && error.contains("eval (512 rows > 8)"), "{error}");
    let mut picky = reference();
    picky.kernels[0].refuses = |query, caps| {
        let cols = query.ins.iter().chain(query.outs).map(|ty| ty.cols).max()?;
        (cols > 40).then(|| format!("{cols} columns, {} takes 40", caps.name))
    };
    let error = compiled(&graphs, &picky).unwrap_err().to_string();
    assert!(error.contains("[Q8_0 in layout file], 1 rows; eval (64 columns, made-up takes 40)"), "{error}");
    let mut narrow = Caps::made_up("made-up");
    narrow.rows.clear();
    let error = compile(&[(Kind::BODY, &graphs[0].1)], &narrow, &reference(), SLOTS, &[]).unwrap_err().to_string();
    assert_eq!(error, "engine made-up names no buckets of rows");
    let mut zero = reference();
    zero.kernels[0].work = |_| inkstone_compute::Work::of(inkstone_compute::Tiling { row_block: 0, col_block: 1 });
    let error = compiled(&graphs, &zero).unwrap_err().to_string();
    assert!(error.starts_with("kernel eval cuts begin_step into blocks of 0 rows"), "{error}");
}

#[test]
fn compiling_twice_gives_the_same_plans() {
    let weights = Tensors::llama(DType::Q8_0, true);
    let once = || {
        let c = compiled(&llama(&weights).unwrap(), &fast()).unwrap();
        (c.plans(Kind::BODY).iter().map(|p| p.key()).collect::<Vec<_>>(), c.arena_bytes(), c.report().to_string())
    };
    assert_eq!(once(), once());
}

#[test]
fn text_forms() {
    let weights = Tensors::llama(DType::Q8_0, true);
    let graphs = llama(&weights).unwrap();
    insta::assert_snapshot!("graphs", graphs.iter().map(|(_, g)| format!("{g}\n")).collect::<String>());
    let reference = compiled(&graphs, &reference()).unwrap();
    insta::assert_snapshot!("plan_reference", reference.step(5, 2, &Wants::SCORES.kinds()).unwrap());
    let fast = compiled(&graphs, &fast()).unwrap();
    insta::assert_snapshot!("plan_fast", fast.step(5, 2, &Wants::TOKENS.kinds()).unwrap());
    insta::assert_snapshot!("report_fast", fast.report());
}

/// The registry of the reference engine without a kernel for an op.
fn without(op: &str) -> Registry {
    const OPS: [&str; 17] = [
        "begin_step",
        "history_write",
        "embed",
        "rms_norm",
        "linear",
        "rope",
        "kv_write",
        "attend",
        "map",
        "quantize",
        "advance",
        "gather_rows",
        "accept",
        "sample",
        "score",
        "columns",
        "kv_copy",
    ];
    let named = |name| Kernel { implements: Pattern::Named(name), ..eval() };
    let kernels = OPS.into_iter().filter(|name| *name != op).map(named).collect();
    Registry { kernels, ..reference() }
}

#[test]
fn selections_without_kernels_are_left_out_with_a_note() {
    let graphs = llama(&Tensors::llama(DType::F32, true)).unwrap();
    let whole = compiled(&graphs, &without("")).unwrap();
    assert!(!whole.plans(Kind::SELECT).is_empty() && !whole.plans(Kind::SELECT_SCORED).is_empty());
    assert!(!whole.report().to_string().contains("left out"));
    for (op, left) in [("score", vec![Kind::SELECT_SCORED]), ("sample", vec![Kind::SELECT, Kind::SELECT_SCORED])] {
        let compiled = compiled(&graphs, &without(op)).unwrap();
        for (kind, _) in &graphs {
            assert_eq!(compiled.plans(*kind).is_empty(), left.contains(kind), "{kind} without {op}");
        }
        let notes = compiled.report().to_string();
        let notes: Vec<&str> = notes.lines().filter(|line| line.starts_with("compile")).collect();
        assert_eq!(notes.len(), left.len(), "{notes:?}");
        let text = format!("left out, the host does its work: {op}: no layout and numerics of engine reference");
        assert!(notes.iter().all(|note| note.contains(&text)), "{notes:?}");
        // The other plans and what they share are the same.
        let parts: Vec<_> = graphs.iter().filter(|(kind, _)| !left.contains(kind)).cloned().collect();
        assert_eq!(compiled.interface(), self::compiled(&parts, &without("")).unwrap().interface());
        assert!(compiled.step(1, 1, &Wants::LOGITS.kinds()).is_ok());
        assert!(compiled.step(1, 1, &Wants::SCORES.kinds()).is_err());
    }
    // A graph that a step can't do without is refused.
    let error = compiled(&graphs, &without("gather_rows")).unwrap_err().to_string();
    assert!(error.starts_with("gather_rows: no layout and numerics of engine reference"), "{error}");
}
