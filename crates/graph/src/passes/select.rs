//! One layout and one numerics for every weight, over all graphs, uses and buckets, so that the same weights give the
//! same bits in every plan. Ops without matrices also get one numerics. This pass assigns the ids of shared weights and
//! states.

use super::{Context, Report, matrices};
use crate::graph::{Graph, Source};
use crate::{Error, Result};
use inkstone_compute::{Caps, Grid, Interface, Layout, Numerics, Query, Registry, StateSlot, WeightSlot};
use inkstone_tensor::body::{Body, Node};
use inkstone_tensor::ops::Quantize;
use inkstone_tensor::{DType, Dim, Op, Sizes, Type};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The choices for a model.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    interface: Arc<Interface>,
    weights: HashMap<Arc<str>, u32>,
    states: HashMap<Arc<str>, u32>,
    /// The numerics of ops without a weight that determines it, by [`class`].
    ops: BTreeMap<String, Numerics>,
}

impl Selection {
    /// Weights, states and ports with their ids.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.interface
    }

    pub(crate) fn weight_id(&self, name: &str) -> Option<u32> {
        self.weights.get(name).copied()
    }

    pub(crate) fn state_id(&self, name: &str) -> Option<u32> {
        self.states.get(name).copied()
    }

    pub(crate) fn weight(&self, name: &str) -> Option<&WeightSlot> {
        self.interface.weights.get(self.weight_id(name)? as usize)
    }

    /// The arithmetic that a node must have; `None`: any.
    pub(crate) fn numerics(&self, body: &Body, sources: &[Option<Source>], node: &Node) -> Option<Numerics> {
        let mut names = matrices(body, sources, node).map(|(name, _)| name).peekable();
        match names.peek() {
            Some(name) if !decodes_only(&node.op) => self.weight(name).map(|w| w.numerics),
            _ => self.ops.get(&class(&node.op, names)).copied(),
        }
    }
}

/// Whether an op only reads rows of a matrix without computing products. Such an op does not determine the arithmetic
/// of the weight, so that a tied embedding has the arithmetic of the head.
fn decodes_only(op: &Op) -> bool {
    matches!(op, Op::Embed(_))
}

/// The class of ops that share one numerics if no weight determines it: the name of the op, or the weight of an op that
/// only decodes.
fn class<'n>(op: &Op, matrices: impl Iterator<Item = &'n str>) -> String {
    matrices.fold(op.name().to_owned(), |class, name| class + " " + name)
}

/// A graph and the buckets that it is compiled for.
pub type Buckets<'g> = (&'g Graph, &'g [Sizes]);

/// See the [module](self).
///
/// # Errors
/// [`Error::Disagree`] if graphs use one name for two types, [`Error::Unserved`] if the engine lacks kernels.
pub fn select(graphs: &[Buckets], caps: &Caps, registry: &Registry) -> Result<(Selection, Report)> {
    let mut selection = names(graphs)?;
    let mut interface = Interface::clone(&selection.interface);
    let engine = Kernels { caps, registry };
    let uses = uses(graphs, &selection);

    let groups = groups(&uses, interface.weights.len());
    for (group, readers) in groups.iter().zip(readers(&uses, &groups)) {
        let (decodes, products): (Vec<&Use>, Vec<&Use>) = readers.into_iter().partition(|u| decodes_only(&u.op));
        let (layout, product, decode) = engine.layout(&interface.weights, group, &products, &decodes)?;
        for &w in group {
            interface.weights[w as usize].layout = layout;
            interface.weights[w as usize].numerics = product;
        }
        selection.ops.extend(decodes.iter().map(|u| (u.class.clone(), decode)));
    }

    let mut classes: BTreeMap<&str, Vec<&Use>> = BTreeMap::new();
    uses.iter().filter(|u| u.matrices.is_empty()).for_each(|u| classes.entry(&u.class).or_default().push(u));
    for (class, uses) in classes {
        let numerics = engine.numerics(&interface.weights, &uses, None).map_err(|reasons| Error::Unserved {
            what: class.to_owned(),
            engine: registry.engine,
            reasons: reasons.join("; "),
        })?;
        selection.ops.insert(class.to_owned(), numerics);
    }
    if let Some(quantize) = engine.quantize(graphs) {
        selection.ops.insert("quantize".to_owned(), quantize);
    }
    selection.interface = Arc::new(interface);
    vectors(graphs, &mut selection);
    let report = report(&selection.interface);
    Ok((selection, report))
}

/// Ids of weights and states, in the order in which graphs name them, and the types of ports.
fn names(graphs: &[Buckets]) -> Result<Selection> {
    let mut selection = Selection::default();
    let mut interface = Interface::default();
    for (g, _) in graphs {
        for (source, v) in g.inputs().chain(g.outputs()) {
            let ty = g.body.ty(v);
            let known: Option<Type> = match source {
                Source::Weight(name) => selection.weight_id(name).map(|i| interface.weights[i as usize].ty),
                Source::State(name) => selection.state_id(name).map(|i| interface.states[i as usize].ty),
                Source::Port(port) => interface.port(*port),
            };
            match (known, source) {
                (Some(known), _) if known == ty => {}
                (Some(known), _) => {
                    let (what, graph) = (source.to_string(), g.name.clone());
                    return Err(Error::Disagree { what, first: known.to_string(), graph, second: ty.to_string() });
                }
                (None, Source::Weight(name)) => {
                    selection.weights.insert(name.clone(), interface.weights.len() as u32);
                    let (layout, numerics) = (Layout::FILE, Numerics::DEFINITION);
                    interface.weights.push(WeightSlot { name: name.clone(), ty, layout, numerics });
                }
                (None, Source::State(name)) => {
                    selection.states.insert(name.clone(), interface.states.len() as u32);
                    interface.states.push(StateSlot { name: name.clone(), ty });
                }
                (None, Source::Port(port)) => interface.ports.push((*port, ty)),
            }
        }
    }
    selection.interface = Arc::new(interface);
    Ok(selection)
}

/// A node as far as a registry asks.
struct Use {
    op: Op,
    /// Ids of its matrices.
    matrices: Vec<u32>,
    /// Rows in each bucket.
    rows: Vec<usize>,
    /// Types of its operands and results.
    ins: Vec<Type>,
    outs: Vec<Type>,
    class: String,
}

fn uses(graphs: &[Buckets], selection: &Selection) -> Vec<Use> {
    let mut uses = Vec::new();
    for (g, buckets) in graphs {
        let sources = g.sources();
        for node in &g.body.nodes {
            let (ins, outs) = (g.body.types_of(&node.ins), g.body.types_of(&node.outs));
            let names: Vec<&str> = matrices(&g.body, &sources, node).map(|(name, _)| name).collect();
            let dim = Grid::along(&ins, &outs);
            uses.push(Use {
                op: node.op.clone(),
                matrices: names.iter().filter_map(|name| selection.weight_id(name)).collect(),
                rows: buckets.iter().map(|b| dim.at(b)).collect(),
                ins: ins.to_vec(),
                outs: outs.to_vec(),
                class: class(&node.op, names.into_iter()),
            });
        }
    }
    uses
}

/// Matrices that meet in a node share their layout and numerics.
fn groups(uses: &[Use], weights: usize) -> Vec<BTreeSet<u32>> {
    let mut groups: Vec<BTreeSet<u32>> = Vec::new();
    let mut group_of: Vec<Option<usize>> = vec![None; weights];
    for matrices in uses.iter().map(|u| &u.matrices).filter(|m| !m.is_empty()) {
        let mut joined: BTreeSet<u32> = matrices.iter().copied().collect();
        for w in matrices {
            if let Some(at) = group_of[*w as usize] {
                joined.append(&mut groups[at]);
            }
        }
        joined.iter().for_each(|w| group_of[*w as usize] = Some(groups.len()));
        groups.push(joined);
    }
    groups.retain(|g| !g.is_empty());
    groups
}

/// The nodes that read a matrix of each group, in order. All matrices of a node are of one group.
fn readers<'u>(uses: &'u [Use], groups: &[BTreeSet<u32>]) -> Vec<Vec<&'u Use>> {
    let of_group = |(i, group): (usize, &BTreeSet<u32>)| group.iter().map(|w| (*w, i)).collect::<Vec<_>>();
    let group_of: HashMap<u32, usize> = groups.iter().enumerate().flat_map(of_group).collect();
    let mut readers = vec![Vec::new(); groups.len()];
    for u in uses {
        if let Some(group) = u.matrices.first().and_then(|w| group_of.get(w)) {
            readers[*group].push(u);
        }
    }
    readers
}

/// The kernels of an engine, asked about all uses of something at once.
struct Kernels<'a> {
    caps: &'a Caps,
    registry: &'a Registry,
}

impl Kernels<'_> {
    /// The best layout that all products and all decoders of a group of weights have kernels for, and the numerics of
    /// either.
    fn layout(
        &self,
        weights: &[WeightSlot],
        group: &BTreeSet<u32>,
        products: &[&Use],
        decodes: &[&Use],
    ) -> Result<(Layout, Numerics, Numerics)> {
        let mut reasons = Vec::new();
        for &layout in &self.registry.layouts {
            let either = |uses: &[&Use], other: &[&Use]| {
                self.numerics(weights, if uses.is_empty() { other } else { uses }, Some(layout))
            };
            match (either(products, decodes), either(decodes, products)) {
                (Ok(product), Ok(decode)) => return Ok((layout, product, decode)),
                (Err(why), _) | (_, Err(why)) => reasons.extend(why),
            }
        }
        let names =
            group.iter().filter_map(|w| weights.get(*w as usize)).map(|w| format!("{} ({})", w.name, w.ty.dtype));
        Err(Error::Unserved {
            what: format!("tensor {}", names.collect::<Vec<_>>().join(", ")),
            engine: self.registry.engine,
            reasons: if reasons.is_empty() { "it names no layouts".to_owned() } else { reasons.join("; ") },
        })
    }

    /// The best numerics that has kernels for all uses in all buckets, or why there is none.
    fn numerics(&self, weights: &[WeightSlot], uses: &[&Use], layout: Option<Layout>) -> Result<Numerics, Vec<String>> {
        let covering = self.registry.kernels.iter().filter(|k| uses.iter().any(|u| k.implements.covers(&u.op)));
        let mut candidates: Vec<Option<Numerics>> = Vec::new();
        for numerics in covering.map(|k| Some(k.numerics)) {
            if !candidates.contains(&numerics) {
                candidates.push(numerics);
            }
        }
        // Without any kernel the registry is asked all the same: its error says what there is.
        if candidates.is_empty() {
            candidates.push(None);
        }
        let mut reasons = Vec::new();
        for numerics in candidates {
            match (self.missing(weights, uses, layout, numerics), numerics) {
                (None, Some(numerics)) => return Ok(numerics),
                (None, None) => return Ok(Numerics::DEFINITION),
                (Some(reason), _) => reasons.push(reason),
            }
        }
        Err(reasons)
    }

    /// The first use in a bucket that has no kernel.
    fn missing(&self, w: &[WeightSlot], uses: &[&Use], layout: Option<Layout>, n: Option<Numerics>) -> Option<String> {
        uses.iter().find_map(|u| {
            let dtypes = u.matrices.iter().filter_map(|i| w.get(*i as usize)).map(|w| w.ty.dtype);
            let weights: Vec<(DType, Layout)> = dtypes.map(|d| (d, layout.unwrap_or(Layout::FILE))).collect();
            u.rows.iter().find_map(|&rows| {
                let (op, ins, outs) = (&u.op, &u.ins[..], &u.outs[..]);
                let query = Query { op, weights: &weights, numerics: n, members: &[], rows, ins, outs };
                self.registry.find(&query, self.caps).err().map(|e| e.to_string())
            })
        })
    }

    /// Of `quantize`, which only [`super::legalise`] puts into graphs, if a kernel wants it.
    fn quantize(&self, graphs: &[Buckets]) -> Option<Numerics> {
        let rows = graphs.iter().flat_map(|(_, buckets)| buckets.iter().flat_map(|b| [b.rows, b.logit_rows])).collect();
        let to = self.registry.kernels.iter().find_map(|k| k.activations)?;
        let op = Op::from(Quantize { to });
        let class = class(&op, [].into_iter());
        // Of rows of one block, as an example.
        let [ins, outs] = [DType::F32, to].map(|dtype| vec![Type::new(dtype, Dim::Rows, to.block())]);
        let quantize = Use { class, op, matrices: Vec::new(), rows, ins, outs };
        self.numerics(&[], &[&quantize], None).ok()
    }
}

/// Vectors keep the layout of the file and have the numerics of their first reader.
fn vectors(graphs: &[Buckets], selection: &mut Selection) {
    let mut interface = Interface::clone(&selection.interface);
    for (g, _) in graphs.iter().rev() {
        let sources = g.sources();
        for node in g.body.nodes.iter().rev() {
            let Some(numerics) = selection.numerics(&g.body, &sources, node) else { continue };
            for v in &node.ins {
                let Some(Source::Weight(name)) = &sources[v.at()] else { continue };
                if let Some(id) = selection.weight_id(name).filter(|_| g.body.ty(*v).rows == Dim::N(1)) {
                    interface.weights[id as usize].numerics = numerics;
                }
            }
        }
    }
    selection.interface = Arc::new(interface);
}

fn report(interface: &Interface) -> Report {
    let mut counts: BTreeMap<(DType, &str, &str), usize> = BTreeMap::new();
    for w in interface.weights.iter().filter(|w| w.ty.rows != Dim::N(1)) {
        *counts.entry((w.ty.dtype, w.layout.0, w.numerics.0)).or_default() += 1;
    }
    let mut report = Report::default();
    for ((dtype, layout, numerics), n) in counts {
        let text = format!("{n} matrices in layout {layout}, numerics {numerics}");
        report.add(Report::line("select", dtype.name(), text));
    }
    report
}

impl<'a> Context<'a> {
    /// A context before anything is selected.
    pub(crate) fn unselected(caps: &'a Caps, registry: &'a Registry, none: &'a Selection) -> Context<'a> {
        Context { caps, registry, selection: none, bucket: Sizes::default(), without: &[] }
    }
}

#[cfg(test)]
mod tests;
