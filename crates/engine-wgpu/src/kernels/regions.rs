//! Regions around products: `[norm] [quantize] linear.. [map [quantize]]`. For few rows each workgroup computes the norm and the
//! encoding for itself where they fit in its memory; else a dispatch before it leaves them in the scratch of the step.

use super::linear::{Activations, End, Inside, MATRICES, Part, Product, few, tiled};
use super::map::{INPUTS, Input, Inputs, result};
use super::norms::{Norm, apply, encode};
use super::one;
use crate::call::{Call, Dispatch, Operand};
use inkstone_compute::{Caps, Query, Shape, Work};
use inkstone_tensor::body::{Body, Node, ValueId};
use inkstone_tensor::ops::{Expr, Map};
use inkstone_tensor::{DType, Dim, Op, Type};

/// Most rows that each workgroup makes for itself: more rows take longer than another dispatch does.
const INSIDE: usize = 1;
/// Bytes of the memory of a workgroup for encoded rows: without sums of a norm, and means and factors of each row.
const MEMORY: usize = 16_384 - 1024 - 64;
/// The same that a row of results takes.
const RESULTS: usize = 1024;

/// The nodes of a region.
struct Parts<'b> {
    body: &'b Body,
    norm: Option<&'b Node>,
    quantize: Option<&'b Node>,
    products: &'b [Node],
    map: Option<(&'b Node, &'b Expr)>,
    encode: Option<&'b Node>,
}

/// The first node, if its op is such a one.
fn take<'b>(nodes: &mut &'b [Node], is: fn(&Op) -> bool) -> Option<&'b Node> {
    let (node, rest) = nodes.split_first().filter(|(n, _)| is(&n.op))?;
    *nodes = rest;
    Some(node)
}

impl<'b> Parts<'b> {
    /// `None`: another kind of region, or one whose nodes read something else.
    fn of(op: &'b Op) -> Option<Parts<'b>> {
        let Op::Region(region) = op else { return None };
        let body = &region.body;
        let mut nodes = &body.nodes[..];
        let norm = take(&mut nodes, |op| matches!(op, Op::RmsNorm(_) | Op::LayerNorm(_)));
        let quantize = take(&mut nodes, |op| matches!(op, Op::Quantize(_)));
        let encode = nodes.split_last().filter(|(n, _)| matches!(n.op, Op::Quantize(_)));
        let (encode, nodes) = encode.map_or((None, nodes), |(encode, rest)| (Some(encode), rest));
        let map = nodes.split_last().and_then(|(n, rest)| match &n.op {
            Op::Map(Map(expr)) => Some(((n, expr), rest)),
            _ => None,
        });
        let (map, products) = map.map_or((None, nodes), |(map, rest)| (Some(map), rest));
        let parts = Parts { body, norm, quantize, products, map, encode };

        // Each reads what the one before it made, and all products the same.
        let after = |before: Option<&Node>, n: &Node| before.is_none_or(|b| n.ins.first() == b.outs.first());
        let last = quantize.or(norm);
        let x = products.first().and_then(|n| n.ins.first());
        let sound = quantize.is_none_or(|q| after(norm, q))
            && products.iter().all(|n| matches!(n.op, Op::Linear(_)) && after(last, n) && n.ins.first() == x)
            && encode.is_none_or(|q| map.is_some_and(|(n, _)| after(Some(n), q)));
        let ends = match (encode, map) {
            (Some(n), _) | (None, Some((n, _))) => body.outputs[..] == n.outs[..],
            _ if products.is_empty() => last.is_some_and(|n| body.outputs[..] == n.outs[..]),
            _ => body.outputs.iter().eq(products.iter().flat_map(|n| &n.outs)),
        };
        (sound && ends).then_some(parts)
    }

    /// The number of an operand of the region.
    fn place(&self, v: ValueId) -> Result<usize, String> {
        self.body.inputs.iter().position(|input| *input == v).ok_or_else(|| format!("{v} is not an operand"))
    }

    fn operand<'c>(&self, call: &'c Call, v: ValueId) -> Result<&'c Operand, String> {
        call.ins.get(self.place(v)?).ok_or_else(|| format!("{v} is not an operand"))
    }

    /// The type of what products read, if the region makes it.
    fn made(&self) -> Option<Type> {
        self.quantize.or(self.norm).map(|n| self.body.ty(n.outs[0]))
    }

    /// Whether each workgroup makes so many rows for itself.
    fn inside(&self, rows: usize) -> bool {
        let row = self.made().map_or(0, |ty| ty.row_bytes() as usize);
        rows <= INSIDE && rows.saturating_mul(row.saturating_add(RESULTS)) <= MEMORY
    }

    /// The operand that the first node reads, and the norm.
    fn front<'c>(&self, call: &'c Call) -> Result<(&'c Operand, Option<Norm<'c>>), String> {
        let first = self.norm.or(self.quantize).or(self.products.first());
        let first = first.ok_or_else(|| "a region of no nodes".to_owned())?;
        let weights = self.norm.map_or(&[][..], |n| &n.ins[1..]).iter();
        let weights = weights.map(|v| self.operand(call, *v)).collect::<Result<Vec<_>, String>>()?;
        Ok((self.operand(call, first.ins[0])?, self.norm.and_then(|n| Norm::of(&n.op, &weights))))
    }

    /// The activations, and the dispatch that makes them if workgroups don't.
    fn activations<'c>(&self, call: &'c Call) -> Result<(Option<Dispatch>, Activations<'c>), String> {
        let (x, norm) = self.front(call)?;
        let (at, k, encodes) = (x.at()?, x.ty.cols, self.quantize.is_some());
        let given = Activations { x: at, k, blocks: encodes || x.ty.dtype == DType::Q8_A, ..Activations::default() };
        if self.made().is_none() || self.inside(call.rows() as usize) {
            return Ok((None, Activations { inside: Inside { norm, encodes }, ..given }));
        }
        let before = match &norm {
            Some(norm) if !encodes => apply(call, at, k, norm, call.scratch)?,
            norm => encode(call, at, k, norm.as_ref(), call.scratch)?,
        };
        Ok((Some(before), Activations { x: call.scratch, ..given }))
    }

    /// The pieces of the matrix of a product, whose result is in `out` if it has a place of its own.
    fn pieces(&self, call: &Call, product: &Node, out: &Operand) -> Result<Vec<Part>, String> {
        let w = self.operand(call, product.ins[1])?;
        let bias = product.ins.get(2).map(|v| self.operand(call, *v)).transpose()?;
        Product { w, bias, out: out.at()?, cols: out.ty.cols }.parts()
    }

    /// The map after products.
    fn result(&self, call: &Call) -> Result<Option<(String, Inputs)>, String> {
        let Some((node, expr)) = self.map else { return Ok(None) };
        let input = |v: &ValueId| match self.products.iter().position(|n| n.outs[0] == *v) {
            Some(product) => Ok(Input::Product(product)),
            None => Ok(Input::At(self.operand(call, *v)?.at()?)),
        };
        let inputs = node.ins.iter().map(input).collect::<Result<Vec<_>, String>>()?;
        result(expr, &inputs).map(Some)
    }
}

/// The scratch of activations that a dispatch makes before the products.
pub(super) fn work(shape: &Shape) -> Work {
    let parts = Parts::of(shape.op).filter(|parts| !parts.products.is_empty());
    let made = parts.and_then(|parts| parts.made().filter(|ty| !parts.inside(ty.rows.at(&shape.bucket))));
    Work { scratch: made.map_or(0, |ty| ty.bytes(&shape.bucket)), ..Work::WHOLE }
}

/// Shapes and orders of nodes.
pub(super) fn refuses(query: &Query, _caps: &Caps) -> Option<String> {
    let Some(parts) = Parts::of(query.op) else { return Some("another order of nodes".to_owned()) };
    let encodings = [parts.quantize, parts.encode].into_iter().flatten();
    if let Some(to) = encodings.map(|n| parts.body.ty(n.outs[0]).dtype).find(|to| *to != DType::Q8_A) {
        return Some(format!("encodes in {to}"));
    }
    if let Some((node, _)) = parts.map
        && node.ins.len() > INPUTS
    {
        return Some(format!("{} operands of a map, allowed: {INPUTS}", node.ins.len()));
    }
    if parts.products.len() > MATRICES {
        return Some(format!("{} products, allowed: {MATRICES}", parts.products.len()));
    }
    let weights = parts.products.iter().map(|n| parts.body.ty(n.ins[1]));
    // Pieces of both have the same rows.
    if parts.map.is_some()
        && !(weights.len() < 2 || weights.len() == 2 && weights.clone().skip(1).eq(weights.clone().take(1)))
    {
        return Some("a map of products that differ".to_owned());
    }
    weights.map(|w| w.rows).any(|rows| rows == Dim::N(1)).then(|| "a weight of one row".to_owned())
}

/// For kernels of many rows: one product, of activations that are encoded if it takes them so.
pub(super) fn refuses_many(query: &Query, caps: &Caps) -> Option<String> {
    let parts = Parts::of(query.op);
    let before = parts.is_some_and(|parts| parts.norm.or(parts.quantize).is_some() || parts.products.len() > 1);
    before.then(|| "a norm, an encoding or several products for many rows".to_owned()).or_else(|| refuses(query, caps))
}

/// For up to eight rows. A matrix of several pieces takes several dispatches.
pub(super) fn products_few(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parts = Parts::of(call.op).ok_or_else(|| super::other(call))?;
    let (before, x) = parts.activations(call)?;
    let map = parts.result(call)?;
    let both = map.is_some() && parts.products.len() > 1;
    let end = End { both, encodes: parts.encode.is_some() };
    let outs = call.outs.iter().chain(call.outs.last().into_iter().cycle());
    let pieces = parts.products.iter().zip(outs).map(|(n, out)| parts.pieces(call, n, out));
    let mut pieces = pieces.collect::<Result<Vec<_>, String>>()?;
    let mut dispatches: Vec<Dispatch> = before.into_iter().collect();
    let mut rest: Vec<Part> = match &mut pieces[..] {
        [gates, ups] if both => gates.drain(..).zip(ups.drain(..)).flat_map(<[Part; 2]>::from).collect(),
        all => all.iter_mut().flat_map(|pieces| pieces.drain(..)).collect(),
    };
    let at_once = match (both, map.is_some()) {
        (true, _) => 2,
        (_, true) => 1,
        _ => MATRICES,
    };
    while !rest.is_empty() {
        let next = rest.drain(..at_once.min(rest.len())).collect();
        dispatches.push(few(call, &x, next, map.as_ref(), end)?);
    }
    Ok(dispatches)
}

/// For many rows.
pub(super) fn products_tiled(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parts = Parts::of(call.op).ok_or_else(|| super::other(call))?;
    let ([product], [out]) = (parts.products, &call.outs[..]) else { return Err(super::other(call)) };
    let ((_, x), map) = (parts.activations(call)?, parts.result(call)?);
    let pieces = parts.pieces(call, product, out)?;
    pieces.into_iter().map(|piece| tiled(call, &x, piece, map.as_ref())).collect()
}

/// A norm and the encoding of its result.
pub(super) fn norm_quantize(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parts = Parts::of(call.op).ok_or_else(|| super::other(call))?;
    let ((x, norm), out) = (parts.front(call)?, call.outs[0].at()?);
    one(encode(call, x.at()?, x.ty.cols, norm.as_ref(), out)?)
}
