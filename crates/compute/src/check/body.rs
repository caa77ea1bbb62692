//! Checks that the bodies of regions are well-formed, as their evaluation assumes.

use super::Fault;
use inkstone_tensor::Op;
use inkstone_tensor::body::{Body, ValueId};

/// Regions within regions.
const DEPTH: usize = 8;

/// Every value is defined once, before its uses, with the type that its op infers; states are consumed at most once,
/// and the last outputs are the newest versions of those inputs that are consumed.
pub(super) fn check(body: &Body) -> Fault {
    check_at(body, 0)
}

#[derive(Clone, Copy, PartialEq)]
enum Value {
    Undefined,
    /// Defined, with the value that it is a version of: itself, except for the next version of a state.
    Defined(ValueId),
    Gone,
}

fn check_at(body: &Body, depth: usize) -> Fault {
    if depth == DEPTH {
        return Err(format!("regions are nested more than {DEPTH} deep"));
    }
    let mut values = vec![Value::Undefined; body.types.len()];
    body.inputs.iter().try_for_each(|v| define(&mut values, *v))?;
    let mut consumed = Vec::new();
    for node in &body.nodes {
        let defined = |v: &ValueId| matches!(values.get(v.at()), Some(Value::Defined(_)));
        if let Some(v) = node.ins.iter().find(|v| !defined(v)) {
            return Err(format!("{} reads {v}, which is not defined or was consumed", node.op.name()));
        }
        if let Op::Region(inner) = &node.op {
            check_at(&inner.body, depth + 1)?;
        }
        let types = node.op.infer(&body.types_of(&node.ins)).map_err(|m| format!("{}: {m}", node.op.name()))?;
        node.outs.iter().try_for_each(|v| define(&mut values, *v))?;
        if !types.iter().eq(node.outs.iter().map(|v| &body.types[v.at()])) {
            return Err(format!("{} has results of other types than it infers", node.op.name()));
        }
        for (state, next) in node.versions() {
            if node.ins.iter().filter(|v| **v == state).count() > 1 {
                return Err(format!("{} consumes {state} and reads it", node.op.name()));
            }
            values[next.at()] = std::mem::replace(&mut values[state.at()], Value::Gone);
            consumed.push(state);
        }
    }
    let mut versions = Vec::new();
    for v in &body.outputs {
        match values.get_mut(v.at()) {
            Some(value @ Value::Defined(_)) => versions.push(std::mem::replace(value, Value::Gone)),
            _ => return Err(format!("output {v} is not defined, was consumed, or is an output twice")),
        }
    }
    let consumed: Vec<ValueId> = body.inputs.iter().copied().filter(|v| consumed.contains(v)).collect();
    let last = &versions[versions.len().saturating_sub(consumed.len())..];
    if let Some(i) = (0..consumed.len()).find(|i| last.get(*i) != Some(&Value::Defined(consumed[*i]))) {
        return Err(format!(
            "{} is consumed, but its newest version is not in its place of the last outputs",
            consumed[i]
        ));
    }
    Ok(())
}

fn define(values: &mut [Value], v: ValueId) -> Fault {
    match values.get_mut(v.at()) {
        Some(value @ Value::Undefined) => {
            *value = Value::Defined(v);
            Ok(())
        }
        Some(_) => Err(format!("{v} is defined twice")),
        None => Err(format!("{v} has no type")),
    }
}
