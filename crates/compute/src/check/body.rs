//! Well-formedness of the bodies of regions: what their evaluation takes for granted.

use super::Fault;
use inkstone_tensor::Op;
use inkstone_tensor::body::{Body, ValueId};

/// Regions within regions.
const DEPTH: usize = 8;

/// Every value is defined once, before its uses, with the type that its op infers; states are consumed at most once.
pub(super) fn check(body: &Body) -> Fault {
    check_at(body, 0)
}

#[derive(Clone, Copy, PartialEq)]
enum Value {
    Undefined,
    Defined,
    Gone,
}

fn check_at(body: &Body, depth: usize) -> Fault {
    if depth == DEPTH {
        return Err(format!("regions lie more than {DEPTH} deep in each other"));
    }
    let mut values = vec![Value::Undefined; body.types.len()];
    body.inputs.iter().try_for_each(|v| define(&mut values, *v))?;
    for node in &body.nodes {
        let defined = |v: &ValueId| values.get(v.at()) == Some(&Value::Defined);
        if let Some(v) = node.ins.iter().find(|v| !defined(v)) {
            return Err(format!("{} reads {v}, which is not defined or was consumed", node.op.name()));
        }
        if let Op::Region(inner) = &node.op {
            check_at(&inner.body, depth + 1)?;
        }
        let types = node.op.infer(&body.types_of(&node.ins)).map_err(|m| format!("{}: {m}", node.op.name()))?;
        if let Some(state) = node.op.consumes().and_then(|i| node.ins.get(i)) {
            if node.ins.iter().filter(|v| *v == state).count() > 1 {
                return Err(format!("{} consumes {state} and reads it", node.op.name()));
            }
            values[state.at()] = Value::Gone;
        }
        node.outs.iter().try_for_each(|v| define(&mut values, *v))?;
        if !types.iter().eq(node.outs.iter().map(|v| &body.types[v.at()])) {
            return Err(format!("{} has results of other types than it infers", node.op.name()));
        }
    }
    for v in &body.outputs {
        match values.get_mut(v.at()) {
            Some(value @ Value::Defined) => *value = Value::Gone,
            _ => return Err(format!("output {v} is not defined, was consumed, or is an output twice")),
        }
    }
    Ok(())
}

fn define(values: &mut [Value], v: ValueId) -> Fault {
    match values.get_mut(v.at()) {
        Some(value @ Value::Undefined) => {
            *value = Value::Defined;
            Ok(())
        }
        Some(_) => Err(format!("{v} is defined twice")),
        None => Err(format!("{v} has no type")),
    }
}
