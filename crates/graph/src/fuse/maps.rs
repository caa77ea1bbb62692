//! Elementwise chains: a `map` takes in the `map` that makes one of its operands, if nobody else reads that. Every term
//! rounds as it did, so no bit changes.

use super::Counts;
use super::flow::{Flow, NodeId};
use super::region::reason;
use crate::passes::Context;
use inkstone_tensor::Op;
use inkstone_tensor::body::{Node, ValueId};
use inkstone_tensor::ops::{Expr, Map, Term};
use smallvec::SmallVec;

/// Merges the maps that a map reads into it where possible.
pub(super) fn absorb(flow: &mut Flow, id: NodeId, cx: &Context, counts: &mut Counts) {
    // Operands that were refused are behind this one.
    let mut next = 0;
    while let Some(v) = flow.node(id).and_then(|n| n.ins.get(next)).copied() {
        next += 1;
        let Some(before) = flow.maker_for(v, id) else { continue };
        let Some(node) = joined(flow, before, id) else { continue };
        match flow.kernel(&node, cx) {
            Err(error) => counts.dissolved(vec![reason(error)]),
            Ok(choice) => {
                flow.replace(id, node);
                flow.remove(before);
                counts.fused(choice.kernel.name);
                next = 0;
            }
        }
    }
}

/// `reader` with the result of `before` replaced by its expression. `None` if these are not maps, if the value would be
/// computed twice, or if the expression exceeds the stack.
fn joined(flow: &Flow, before: NodeId, reader: NodeId) -> Option<Node> {
    let (Node { op: Op::Map(first), ins: first_ins, outs: first_outs }, Node { op: Op::Map(second), ins, outs }) =
        (flow.node(before)?, flow.node(reader)?)
    else {
        return None;
    };
    let value = first_outs[0];
    let mut operands: SmallVec<[ValueId; 4]> = SmallVec::new();
    let mut terms = Vec::new();
    let mut input = |v: ValueId, terms: &mut Vec<Term>| {
        let at = operands.iter().position(|o| *o == v).unwrap_or_else(|| {
            operands.push(v);
            operands.len() - 1
        });
        terms.push(Term::In(u8::try_from(at).ok()?));
        Some(())
    };
    let mut found = 0;
    for term in &second.0.0 {
        match *term {
            Term::In(i) if *ins.get(usize::from(i))? == value => {
                found += 1;
                for term in &first.0.0 {
                    match *term {
                        Term::In(i) => input(*first_ins.get(usize::from(i))?, &mut terms)?,
                        term => terms.push(term),
                    }
                }
            }
            Term::In(i) => input(*ins.get(usize::from(i))?, &mut terms)?,
            term => terms.push(term),
        }
    }
    let expr = Expr::new(&terms);
    (found == 1 && expr.is_well_formed()).then(|| Node { op: Map(expr).into(), ins: operands, outs: outs.clone() })
}
