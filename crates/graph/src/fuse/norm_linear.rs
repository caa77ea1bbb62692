//! A norm and the products that read it: queries, keys and values.

use super::flow::{Flow, NodeId};
use super::prologue::{self, product};
use super::region::Draft;

/// Products that kernels do in one go.
const MOST: usize = 3;

/// The product together with the other products of the same operand, or on its own.
pub(super) fn norm_linear(flow: &Flow, first: NodeId) -> Vec<Draft> {
    let Some(x) = product(flow, first).map(|p| p.x) else { return Vec::new() };
    let Some(before) = prologue::norm(flow, x) else { return Vec::new() };
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
