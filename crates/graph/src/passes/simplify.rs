//! Common subexpressions are computed once, and what nothing depends on is dropped, with the inputs that only it read:
//! a weight that nobody reads is not loaded.

use super::{Context, Report};
use crate::Result;
use crate::graph::{Graph, Source};
use inkstone_tensor::body::ValueId;
use std::collections::{HashMap, HashSet};

/// See the [module](self).
///
/// # Errors
/// None.
pub fn simplify(g: &mut Graph, _cx: &Context) -> Result<Report> {
    let common = common_subexpressions(g);
    let (nodes, inputs) = dead_code(g);
    let counts = [(common, "common subexpressions"), (nodes, "dead nodes"), (inputs, "unused inputs")];
    let done: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    Ok(if done.is_empty() { Report::default() } else { Report::line("simplify", g.name.as_str(), done.join(", ")) })
}

/// Replaces a node by an earlier one of the same op on the same operands. States make no difference: a node that reads
/// one names its version, and a node that consumes one has no equal.
fn common_subexpressions(g: &mut Graph) -> usize {
    let mut same: HashMap<ValueId, ValueId> = HashMap::new();
    let mut known: HashMap<(String, Vec<ValueId>), Vec<usize>> = HashMap::new();
    let mut kept = Vec::with_capacity(g.body.nodes.len());
    let outputs: HashSet<ValueId> = g.body.outputs.iter().copied().collect();
    let (nodes, lines) = (std::mem::take(&mut g.body.nodes), std::mem::take(&mut g.at));
    let before = nodes.len();
    for (mut node, at) in nodes.into_iter().zip(lines) {
        node.ins.iter_mut().for_each(|v| *v = same.get(v).copied().unwrap_or(*v));
        // A value can go out once only, so outputs stay as they are.
        let goes_out = node.outs.iter().any(|v| outputs.contains(v));
        let alike = known.entry((node.op.name().to_owned(), node.ins.to_vec())).or_default();
        let earlier =
            alike.iter().map(|i| &kept[*i]).find(|(k, _): &&(inkstone_tensor::body::Node, _)| k.op == node.op);
        match earlier {
            Some((earlier, _)) if !goes_out => same.extend(node.outs.iter().copied().zip(earlier.outs.iter().copied())),
            _ => {
                alike.push(kept.len());
                kept.push((node, at));
            }
        }
    }
    (g.body.nodes, g.at) = kept.into_iter().unzip();
    before - g.body.nodes.len()
}

/// Nodes and inputs that no output depends on. A state that nothing touches needs not be bound.
fn dead_code(g: &mut Graph) -> (usize, usize) {
    let mut read = vec![false; g.body.types.len()];
    g.body.outputs.iter().for_each(|v| read[v.at()] = true);
    g.body.inputs.iter().for_each(|v| read[v.at()] = false);
    let mut live = vec![false; g.body.nodes.len()];
    for (live, node) in live.iter_mut().zip(&g.body.nodes).rev() {
        *live = node.outs.iter().any(|v| read[v.at()]);
        if *live {
            node.ins.iter().for_each(|v| read[v.at()] = true);
        }
    }
    let before = (g.body.nodes.len(), g.body.inputs.len());
    let mut alive = live.iter();
    g.at.retain(|_| *alive.next().expect("one a node"));
    let mut alive = live.iter();
    g.body.nodes.retain(|_| *alive.next().expect("one a node"));
    keep(&mut g.body.inputs, &mut g.inputs, |v| read[v.at()]);
    keep(&mut g.body.outputs, &mut g.outputs, |v| read[v.at()]);
    (before.0 - g.body.nodes.len(), before.1 - g.body.inputs.len())
}

fn keep(values: &mut Vec<ValueId>, sources: &mut Vec<Source>, keep: impl Fn(ValueId) -> bool) {
    let pairs = std::mem::take(values).into_iter().zip(std::mem::take(sources));
    (*values, *sources) = pairs.filter(|(v, _)| keep(*v)).unzip();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::select::Selection;
    use crate::{Tracer, test_support};
    use inkstone_compute::{Caps, Port};
    use inkstone_tensor::{DType, Dim, Sizes, Type};

    fn simplified(mut g: Graph) -> (Graph, String) {
        let (caps, registry, selection) = (Caps::made_up("made-up"), test_support::registry(), Selection::default());
        let cx =
            Context { caps: &caps, registry: &registry, selection: &selection, bucket: Sizes::default(), without: &[] };
        let report = simplify(&mut g, &cx).unwrap();
        assert_eq!(g.faults(), []);
        (g, report.to_string())
    }

    #[test]
    fn what_is_computed_twice_is_computed_once_and_what_nobody_reads_is_dropped() {
        let weights = test_support::Shapes(&[("w", DType::F32, &[4, 4]), ("unused", DType::F32, &[4, 4])]);
        let t = Tracer::new("g", &weights);
        let x = t.input(Port::HIDDEN, Type::f32(Dim::Rows, 4));
        let (w, unused) = (t.weight("w", 4, 4).unwrap(), t.weight("unused", 4, 4).unwrap());
        let (a, b) = (t.linear(x, w, None).unwrap(), t.linear(x, w, None).unwrap());
        t.linear(t.silu(a).unwrap(), unused, None).unwrap();
        t.output(Port::LOGITS, t.add(t.silu(a).unwrap(), t.silu(b).unwrap()).unwrap());
        let history = t.history();
        t.keep(history);
        let (g, report) = simplified(t.finish().unwrap());
        assert_eq!(g.body.nodes.iter().map(|n| n.op.name()).collect::<Vec<_>>(), ["linear", "map", "map"]);
        assert_eq!(g.inputs.len(), 2, "neither the unused weight nor the untouched state");
        assert!(report.contains("3 common subexpressions, 1 dead nodes, 2 unused inputs"), "{report}");
    }

    #[test]
    fn an_op_stays_as_long_as_any_of_its_results_is_read() {
        for (read, nodes) in [(&[][..], 1), (&[0], 2), (&[1], 2), (&[0, 1], 3)] {
            let t = Tracer::new("g", &test_support::Shapes(&[]));
            let x = t.input(Port::HIDDEN, Type::f32(Dim::Rows, 4));
            let made = t.op(test_support::both(x.ty()), &[x]).unwrap();
            let sum = read.iter().map(|i: &usize| made[*i]).reduce(|a, b| t.add(a, b).unwrap());
            t.output(Port::LOGITS, t.silu(sum.unwrap_or(x)).unwrap());
            assert_eq!(simplified(t.finish().unwrap()).0.body.nodes.len(), nodes, "results {read:?}");
        }
    }

    #[test]
    fn ops_of_other_attributes_are_not_the_same() {
        let t = Tracer::new("g", &test_support::Shapes(&[]));
        let x = t.input(Port::HIDDEN, Type::f32(Dim::Rows, 4));
        let (a, b) = (t.add(x, x).unwrap(), t.mul(x, x).unwrap());
        t.output(Port::LOGITS, t.add(a, b).unwrap());
        let (g, report) = simplified(t.finish().unwrap());
        assert_eq!((g.body.nodes.len(), report.as_str()), (3, ""));
    }

    #[test]
    fn writes_of_states_stay() {
        let t = Tracer::new("g", &test_support::Shapes(&[]));
        let carry = t.carry();
        let rows = t.begin_step(&carry).unwrap();
        t.keep(t.advance(carry, rows).unwrap());
        assert_eq!(simplified(t.finish().unwrap()).0.body.nodes.len(), 2);
    }
}
