//! Regions around products: before them a norm, the encoding of activations, or both, which each worker computes once
//! per step; after them a map of their results, optionally with the encoding of its result. They call the functions of
//! the single ops, so their bits are the same.

use super::decoded::decode_row;
use super::linear_q8::{Forms, SharedSide};
use super::product::{Activations, Buffers, Weight, columns, first, prepare, put};
use super::{layer_norm, map, quantize, rms_norm};
use crate::isa::{Body, Floats, Portable, Words};
use crate::memory::{View, ViewMut};
use crate::tile::Tile;
use inkstone_tensor::body::{self, Node, ValueId};
use inkstone_tensor::ops::Map;
use inkstone_tensor::step::StepError;
use inkstone_tensor::{Op, Type};
use smallvec::SmallVec;
use std::ops::Range;

/// The nodes of a region, with its operands: `[norm] [quantize] linear.. [map [quantize]]`.
struct Parts<'t, 'v> {
    body: &'t body::Body,
    ins: &'t [View<'v>],
    norm: Option<&'t Node>,
    quantize: Option<&'t Node>,
    products: &'t [Node],
    map: Option<(&'t Node, &'t Map)>,
    encode: Option<&'t Node>,
}

/// The first node, if its op is such a one.
fn take<'t>(nodes: &mut &'t [Node], is: fn(&Op) -> bool) -> Option<&'t Node> {
    let (node, rest) = nodes.split_first().filter(|(n, _)| is(&n.op))?;
    *nodes = rest;
    Some(node)
}

impl<'t, 'v> Parts<'t, 'v> {
    /// `None`: another kind of region, or one whose nodes read something else.
    fn of(op: &'t Op, ins: &'t [View<'v>]) -> Option<Parts<'t, 'v>> {
        let Op::Region(region) = op else { return None };
        let body = &region.body;
        let mut nodes = &body.nodes[..];
        let norm = take(&mut nodes, |op| matches!(op, Op::RmsNorm(_) | Op::LayerNorm(_)));
        let quantize = take(&mut nodes, |op| matches!(op, Op::Quantize(_)));
        let encode = nodes.last().filter(|n| matches!(n.op, Op::Quantize(_)));
        nodes = &nodes[..nodes.len() - usize::from(encode.is_some())];
        let map = nodes.last().and_then(|n| if let Op::Map(map) = &n.op { Some((n, map)) } else { None });
        let products = &nodes[..nodes.len() - usize::from(map.is_some())];
        let parts = Parts { body, ins, norm, quantize, products, map, encode };

        // Each reads what the one before it made, and all products the same.
        let after = |before: Option<&Node>, n: &Node| before.is_none_or(|b| n.ins.first() == b.outs.first());
        let last = quantize.or(norm);
        let sound = quantize.is_none_or(|q| after(norm, q))
            && products
                .iter()
                .all(|n| matches!(n.op, Op::Linear(_)) && after(last, n) && n.ins[0] == products[0].ins[0])
            && encode.is_none_or(|q| map.is_some_and(|(n, _)| after(Some(n), q)))
            && map.is_none_or(|(n, _)| body.outputs[..] == encode.unwrap_or(n).outs[..]);
        sound.then_some(parts)
    }

    /// The view of an operand of the region in this tile.
    fn operand(&self, v: ValueId) -> View<'v> {
        let at = self.body.inputs.iter().position(|input| *input == v);
        at.map(|i| self.ins[i]).unwrap_or_else(|| panic!("{v} is not an operand of the region"))
    }

    fn weight(&self, product: &Node) -> Weight<'v> {
        Weight { w: self.operand(product.ins[1]), bias: product.ins.get(2).map(|v| self.operand(*v)) }
    }

    /// The type of the result of the last node in the prologue.
    fn made(&self) -> Option<Type> {
        self.quantize.or(self.norm).map(|n| self.body.ty(n.outs[0]))
    }
}

pub(super) fn products<I: Words>(tile: &mut Tile) -> Result<(), StepError> {
    let Some(parts) = Parts::of(tile.op, tile.ins) else { panic!("no region of products: {}", tile.op) };
    let Some(result) = tile.outs.iter().position(|out| !out.cols.is_empty()) else { return Ok(()) };
    let (rows, out) = (tile.rows.clone(), &mut tile.outs[result]);
    let Buffers { work, results, normed, encoded, prepared } = tile.scratch.get();
    if tile.first {
        prologue::<I>(&parts, rows.clone(), &mut work.floats, normed, encoded);
    }
    let x = match parts.made() {
        Some(ty) if parts.quantize.is_some() => Activations::new(ty, &encoded[..rows.len() * ty.row_bytes() as usize]),
        Some(ty) => Activations::new(ty, bytemuck::cast_slice(&normed[..rows.len() * ty.cols])),
        None => Activations::of(&parts.operand(parts.products[0].ins[0]), rows.clone()),
    };
    let weights = || parts.products.iter().map(|product| parts.weight(product).w.ty.dtype);
    let forms = || Forms::of::<I>(parts.operand(parts.products[0].ins[0]).ty, weights());
    let shared = SharedSide::of::<I>(tile.shared, rows.len(), forms);
    let shared = shared.as_ref();
    if tile.first {
        prepare::<I>(x, shared, weights(), prepared);
    }

    let (cols, size) = (out.cols.clone(), rows.len() * out.cols.len());
    let Some((node, map)) = parts.map else {
        let made = |n: &&Node| n.outs.first() == parts.body.outputs.get(result);
        let Some(product) = parts.products.iter().find(made) else { panic!("result {result} is made by no product") };
        let results = first(results, size);
        columns::<I>(x, shared, prepared, &parts.weight(product), cols, work, results);
        put(out, results);
        return Ok(());
    };
    let results = first(results, parts.products.len() * size);
    for (product, results) in parts.products.iter().zip(results.chunks_exact_mut(size)) {
        columns::<I>(x, shared, prepared, &parts.weight(product), cols.clone(), work, results);
    }
    let mapped = parts.encode.map(|_| first(&mut work.floats, cols.len()));
    epilogue::<I>(Epilogue { parts: &parts, node, map, results, mapped, out });
    Ok(())
}

/// The inputs that all tiles of the step share.
struct Prologue<'c, 't, 'v, I> {
    isa: I,
    parts: &'c Parts<'t, 'v>,
    rows: Range<usize>,
    work: &'c mut Vec<f32>,
    normed: &'c mut Vec<f32>,
    encoded: &'c mut Vec<u8>,
}

fn prologue<I: Floats>(
    parts: &Parts,
    rows: Range<usize>,
    work: &mut Vec<f32>,
    normed: &mut Vec<f32>,
    encoded: &mut Vec<u8>,
) {
    match I::detect() {
        Some(isa) => isa.run(Prologue { isa, parts, rows, work, normed, encoded }),
        None => prologue::<Portable>(parts, rows, work, normed, encoded),
    }
}

impl<I: Floats> Body for Prologue<'_, '_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Prologue { isa, parts, rows, work, normed, encoded } = self;
        if let Some(node) = parts.norm {
            let x = parts.operand(node.ins[0]);
            let cols = x.ty.cols;
            let normed = first(normed, rows.len() * cols);
            let vectors = first(work, cols * (node.ins.len() - 1));
            for (v, values) in node.ins[1..].iter().zip(vectors.chunks_exact_mut(cols)) {
                decode_row(&parts.operand(*v), 0, 0, values);
            }
            let (weights, biases) = vectors.split_at(cols);
            for (r, out) in rows.clone().zip(normed.chunks_exact_mut(cols)) {
                match &node.op {
                    Op::RmsNorm(op) => rms_norm::row(isa, x.row(r), weights, op.eps, out),
                    Op::LayerNorm(op) => layer_norm::row(isa, x.row(r), weights, biases, op.eps, out),
                    other => unreachable!("{other} is not a norm"),
                }
            }
        }
        if let Some(node) = parts.quantize {
            let ty = parts.body.ty(node.outs[0]);
            let row = ty.row_bytes() as usize;
            let encoded = first(encoded, rows.len() * row);
            for (i, out) in encoded.chunks_exact_mut(row).enumerate() {
                let x = match parts.norm {
                    Some(_) => &normed[i * ty.cols..][..ty.cols],
                    None => parts.operand(node.ins[0]).row(rows.start + i),
                };
                quantize::row(isa, ty.dtype, x, out);
            }
        }
    }
}

/// How many rows ahead an epilogue asks for those that it stores.
const SOON: usize = 8;

/// The map of the results of the products of a tile, one after the other, and its encoding.
struct Epilogue<'c, 't, 'v, 'm> {
    parts: &'c Parts<'t, 'v>,
    node: &'t Node,
    map: &'t Map,
    results: &'c [f32],
    /// Room for a row before it is encoded, if it is.
    mapped: Option<&'c mut [f32]>,
    out: &'c mut ViewMut<'m>,
}

fn epilogue<I: Floats>(call: Epilogue) {
    match I::detect() {
        Some(isa) => isa.run(OnSet(isa, call)),
        None => epilogue::<Portable>(call),
    }
}

struct OnSet<'c, 't, 'v, 'm, I>(I, Epilogue<'c, 't, 'v, 'm>);

impl<I: Floats> Body for OnSet<'_, '_, '_, '_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let OnSet(isa, Epilogue { parts, node, map, results, mut mapped, out }) = self;
        let (rows, cols) = (out.rows.clone(), out.cols.clone());
        let (size, last) = (rows.len() * cols.len(), rows.end.saturating_sub(1));
        // The results of products, or of the norm if there are none, and other operands.
        let made = if parts.products.is_empty() { parts.norm.as_slice() } else { &[] };
        let made = made.iter().copied().chain(parts.products);
        let source = |v: &ValueId| match made.clone().position(|n| n.outs.first() == Some(v)) {
            Some(p) => (&results[p * size..][..size], None),
            None => (results, Some(parts.operand(*v))),
        };
        let sources: SmallVec<[(&[f32], Option<View>); 4]> = node.ins.iter().map(source).collect();
        let (mut ins, mut stack): (SmallVec<[&[f32]; 4]>, _) = (SmallVec::new(), map::stack(isa));
        for (i, r) in rows.enumerate() {
            ins.clear();
            for (results, view) in &sources {
                ins.push(match view {
                    Some(view) => &view.row(r)[cols.clone()],
                    None => &results[i * cols.len()..][..cols.len()],
                });
            }
            // Rows are far apart, so loads and stores would wait for lines that are not prefetched.
            let soon = (r + SOON).min(last);
            for view in sources.iter().filter_map(|(_, view)| view.as_ref()) {
                isa.prefetch(bytemuck::cast_slice(&view.row::<f32>(soon)[cols.clone()]));
            }
            isa.prefetch(out.row_bytes(soon));
            match &mut mapped {
                Some(mapped) => {
                    map::row(isa, &map.0, &ins, mapped, &mut stack);
                    quantize::row(isa, out.ty.dtype, mapped, out.row_bytes(r));
                }
                None => map::row(isa, &map.0, &ins, out.row(r), &mut stack),
            }
        }
    }
}

/// The kernel of `norm_map`.
pub(super) fn norm_map<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    let Some(parts) = Parts::of(tile.op, tile.ins) else { panic!("no norm and map: {}", tile.op) };
    let Some((node, map)) = parts.map.filter(|_| parts.norm.is_some() && parts.products.is_empty()) else {
        panic!("no norm and map: {}", tile.op)
    };
    let (rows, out) = (tile.rows.clone(), &mut tile.outs[0]);
    let Buffers { work, normed, encoded, .. } = tile.scratch.get();
    prologue::<I>(&parts, rows.clone(), &mut work.floats, normed, encoded);
    let results = &normed[..rows.len() * out.cols.len()];
    epilogue::<I>(Epilogue { parts: &parts, node, map, results, mapped: None, out });
    Ok(())
}

/// The kernel of `norm_quantize`.
pub(super) fn norm_quantize<I: Floats>(tile: &mut Tile) -> Result<(), StepError> {
    let Some(parts) = Parts::of(tile.op, tile.ins) else { panic!("no norm and encoding: {}", tile.op) };
    let (rows, out) = (tile.rows.clone(), &mut tile.outs[0]);
    let Buffers { work, normed, encoded, .. } = tile.scratch.get();
    prologue::<I>(&parts, rows.clone(), &mut work.floats, normed, encoded);
    let row = out.ty.row_bytes() as usize;
    for (r, encoded) in rows.zip(encoded.chunks_exact(row)) {
        out.row_bytes(r).copy_from_slice(encoded);
    }
    Ok(())
}
