//! Two models in one compile: each keeps its weights, states and ports, and has the bits that it has without the other.

use crate::common::*;
use inkstone_compute::{Caps, Port, Registry};
use inkstone_graph::{Compiled, Graph, Kind, Kinds, Result, Tracer, Wants, compile};
use inkstone_tensor::ops::Attend;
use inkstone_tensor::step::ROWS;
use inkstone_tensor::{DType, Dim, Type};

const PREFIX: &str = "draft.";
const HEAD_DIM: usize = 8;

/// A model of one layer, with weights that depend on the width.
struct Made {
    weights: Tensors,
    graphs: Vec<(Kind, Graph)>,
}

fn made(width: usize, heads: usize) -> Made {
    let mut named = Tensors::default();
    let matrices = [("embd", VOCAB), ("q", heads * HEAD_DIM), ("kv", HEAD_DIM), ("head", VOCAB)];
    for (name, rows) in matrices {
        named.add(&format!("{name} of {width}"), DType::Q8_0, &[width, rows]);
    }
    named.add(&format!("out of {width}"), DType::F32, &[heads * HEAD_DIM, width]);
    let suffix = format!(" of {width}");
    let weights = Tensors(named.0.into_iter().map(|(name, w)| (name.replace(&suffix, ""), w)).collect());
    let graphs = graphs(&weights, width, heads).unwrap();
    Made { weights, graphs }
}

fn graphs(w: &Tensors, width: usize, heads: usize) -> Result<Vec<(Kind, Graph)>> {
    let t = Tracer::new("body", w);
    let carry = t.carry();
    let rows = t.begin_step(&carry)?;
    t.keep(t.history_write(t.history(), rows)?);
    let x = t.embed(rows, t.weight("embd", VOCAB, width)?)?;
    let q = t.linear(x, t.weight("q", heads * HEAD_DIM, width)?, None)?;
    let kv = t.linear(x, t.weight("kv", HEAD_DIM, width)?, None)?;
    let [k, v] = ["k", "v"].map(|name| t.kv_write(t.cache(name, 1, DType::F16, 1, HEAD_DIM), kv, rows));
    let (k, v) = (k?, v?);
    let a = t.attend(q, &k, &v, rows, Attend { heads, kv_heads: 1, scale: 0.3, window: None })?;
    [k, v].into_iter().for_each(|cache| t.keep(cache));
    t.keep(t.advance(carry, rows)?);
    t.output(Port::ROWS, rows);
    t.output(Port::HIDDEN, t.add(x, t.linear(a, t.weight("out", width, heads * HEAD_DIM)?, None)?)?);
    let body = t.finish()?;

    let t = Tracer::new("head", w);
    let x = t.gather_rows(t.input(Port::HIDDEN, Type::f32(Dim::Rows, width)))?;
    t.output(Port::LOGITS, t.linear(x, t.weight("head", VOCAB, width)?, None)?);
    let head = t.finish()?;

    let t = Tracer::new("select", w);
    let logits = t.input(Port::LOGITS, Type::f32(Dim::LogitRows, VOCAB));
    let history = t.history();
    let records = t.sample(logits, t.input(Port::ROWS, ROWS), &history)?;
    t.keep(history);
    t.keep(t.accept(t.carry(), records)?);
    t.output(Port::RECORDS, records);
    Ok(vec![(Kind::BODY, body), (Kind::HEAD, head), (Kind::SELECT, t.finish()?)])
}

/// The same model as number 1 of a compile.
fn as_draft(model: &Made) -> Made {
    let weights = model.weights.0.iter().map(|(name, w)| (format!("{PREFIX}{name}"), w.clone())).collect();
    let graphs = model.graphs.iter().map(|(kind, g)| (kind.of_model(1), g.clone().of_model(1, PREFIX))).collect();
    Made { weights: Tensors(weights), graphs }
}

fn compiled(graphs: &[(Kind, Graph)], registry: &Registry) -> Compiled {
    compile(graphs, &Caps::made_up("made-up"), registry, SLOTS, &[]).unwrap()
}

#[test]
fn each_of_two_models_in_a_plan_has_its_own_bits() {
    for registry in [reference(), fast()] {
        let models = [made(64, 4), made(32, 2)];
        let draft = as_draft(&models[1]);
        let both: Vec<(Kind, Graph)> = models[0].graphs.iter().chain(&draft.graphs).cloned().collect();
        let mut weights = models[0].weights.clone();
        weights.0.extend(draft.weights.0);

        let linked = compiled(&both, &registry);
        let mut machine = Machine::new(linked.interface(), &weights, SLOTS);
        let mut single: Vec<(Compiled, Machine)> = Vec::new();
        for model in &models {
            let compiled = compiled(&model.graphs, &registry);
            let machine = Machine::new(compiled.interface(), &model.weights, SLOTS);
            single.push((compiled, machine));
        }
        let wants = Wants::TOKENS.kinds();
        let of_both: Kinds = wants.iter().copied().chain(wants.iter().map(|k| k.of_model(1))).collect();
        for (i, parts) in STEPS.iter().enumerate().skip(1) {
            let (rows, logit_rows, words) = words(parts);
            let plan = linked.step(rows, logit_rows, &of_both).unwrap();
            assert_eq!(plan.name, "body+head+select+draft.body+draft.head+draft.select");
            machine.run(&plan, &words);
            for (of, prefix) in [(0, ""), (1, PREFIX)] {
                let (compiled, one) = &mut single[usize::from(of)];
                one.run(&compiled.step(rows, logit_rows, &wants).unwrap(), &words);
                for (port, value) in &one.ports {
                    assert!(machine.ports[&port.of_model(of)] == *value, "{port} of model {of}, step {i}");
                }
                for state in ["carry", "history", "k", "v"] {
                    let found = machine.state(&format!("{prefix}{state}"));
                    assert!(found == one.state(state), "{state} of model {of}, step {i}");
                }
            }
            assert_ne!(machine.ports[&Port::HIDDEN].cols(), machine.ports[&Port::HIDDEN.of_model(1)].cols());
        }
    }
}

/// An early exit of a model is a model of its own that shares weights.
#[test]
fn a_model_without_a_prefix_shares_the_weights_of_the_target() {
    let model = made(64, 4);
    let head = model.graphs.iter().find(|(kind, _)| *kind == Kind::HEAD).map(|(_, g)| g.clone().of_model(2, ""));
    let mut graphs = model.graphs.clone();
    graphs.push((Kind::HEAD.of_model(2), head.unwrap()));
    let (target, with_exit) = (compiled(&model.graphs, &reference()), compiled(&graphs, &reference()));
    assert_eq!(with_exit.interface().weights, target.interface().weights);
    assert_eq!(with_exit.interface().port(Port::LOGITS.of_model(2)), target.interface().port(Port::LOGITS));
}
