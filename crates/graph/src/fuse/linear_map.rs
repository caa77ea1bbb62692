//! A product and the map of its result: a residual, an activation.

use super::flow::{Flow, NodeId};
use super::prologue::{self, Product, product};
use super::region::Draft;
use inkstone_tensor::Op;

/// With the norm, and the encoding, that come before the product.
pub(super) fn norm_linear_map(flow: &Flow, map: NodeId) -> Vec<Draft> {
    let before = |p: &Product| prologue::norm(flow, p.x);
    products(flow, map).iter().filter_map(|p| Some(draft(flow, &before(p)?, *p, map))).collect()
}

/// With the encoding that comes before the product, or on activations as they are.
pub(super) fn linear_map(flow: &Flow, map: NodeId) -> Vec<Draft> {
    let products = products(flow, map);
    let encoded = products.iter().filter_map(|p| Some(draft(flow, &[prologue::quantize(flow, p.x)?], *p, map)));
    encoded.chain(products.iter().map(|p| draft(flow, &[], *p, map))).collect()
}

fn draft(flow: &Flow, prologue: &[NodeId], product: Product, map: NodeId) -> Draft {
    let results = flow.node(map).map_or_else(Vec::new, |n| n.outs.to_vec());
    Draft::new(flow, prologue, vec![product.node, map], results)
}

/// The products among a map's operands that only it reads, and reads once.
fn products(flow: &Flow, map: NodeId) -> Vec<Product> {
    let Some(n) = flow.node(map).filter(|n| matches!(n.op, Op::Map(_))) else { return Vec::new() };
    let once = n.ins.iter().filter(|v| n.ins.iter().filter(|o| o == v).count() == 1);
    once.filter_map(|v| product(flow, flow.maker_for(*v, map)?)).collect()
}
