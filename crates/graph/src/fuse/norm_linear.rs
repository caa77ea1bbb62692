//! A norm, or only the encoding of activations, and the products that read it: queries, keys and values.

use super::flow::{Flow, NodeId};
use super::prologue::{self, product};
use super::region::Draft;
use inkstone_tensor::body::ValueId;

/// Products that kernels do in one go.
const MOST: usize = 3;

/// The products behind a norm.
pub(super) fn norm_linear(flow: &Flow, first: NodeId) -> Vec<Draft> {
    drafts(flow, first, prologue::norm)
}

/// The products of activations that no norm makes.
pub(super) fn quantize_linear(flow: &Flow, first: NodeId) -> Vec<Draft> {
    drafts(flow, first, |flow, x| match prologue::norm(flow, x) {
        None => Some(vec![prologue::quantize(flow, x)?]),
        Some(_) => None,
    })
}

/// The product together with the other products of the same operand, or on its own.
fn drafts(flow: &Flow, first: NodeId, before: fn(&Flow, ValueId) -> Option<Vec<NodeId>>) -> Vec<Draft> {
    let Some(x) = product(flow, first).map(|p| p.x) else { return Vec::new() };
    let Some(before) = before(flow, x) else { return Vec::new() };
    let others = flow.readers(x).iter().filter(|id| **id != first);
    let together: Vec<NodeId> = [first].iter().chain(others).take(MOST).copied().collect();
    let draft = |members: &[NodeId]| {
        let results = members.iter().filter_map(|id| product(flow, *id)).map(|p| p.result).collect();
        Draft::new(flow, &before, members.to_vec(), results)
    };
    let mut drafts = vec![draft(&together)];
    if together.len() > 1 {
        drafts.push(draft(&[first]));
    }
    drafts
}
