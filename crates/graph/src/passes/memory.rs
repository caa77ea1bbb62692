//! The placement of values: weights, states and ports have their own memory; all other values share one arena, without
//! overlaps between values whose lifetimes overlap. States are updated in place. [`check`](crate::check()) detects
//! errors of this pass.
//!
//! The scratch of a node is placed in the arena like a value that lives from the previous node with scratch to the next one.
//! So the scratch of neighbours is in different places, and the first phase of a node can run while tiles of the node
//! before still read theirs.

use super::Context;
use crate::graph::Graph;
use crate::{Error, Result};
use inkstone_compute::Region;
use inkstone_tensor::Sizes;
use inkstone_tensor::body::ValueId;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

/// Values begin on multiples of this: a cache line, and the widest vectors.
pub const ALIGN: u64 = 64;

/// The bytes of a graph's values.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// By value: in which memory, and the first byte. `None` for values that no node reads or makes.
    pub places: Vec<Option<(Region, u64)>>,
    /// By node: its scratch in the arena, perhaps empty.
    pub scratch: Vec<Range<u64>>,
    /// Bytes of the arena.
    pub arena_bytes: u64,
}

/// See the [module](self). `scratch` are the bytes that each node needs.
///
/// # Errors
/// [`Error::ArenaSize`] if the sizes overflow.
pub fn memory(g: &Graph, scratch: &[u64], cx: &Context) -> Result<Placement> {
    let places = fixed(g, cx);
    let mut lives = lifetimes(g, &cx.bucket, |v| places[v.at()].is_none());
    lives.extend(scratch_lifetimes(scratch));
    let arena = place(&mut lives).ok_or_else(|| Error::ArenaSize {
        graph: g.name.clone(),
        rows: cx.bucket.rows,
        logit_rows: cx.bucket.logit_rows,
    })?;
    Ok(Placement::new(g, places, &lives, arena))
}

impl Placement {
    /// Of values with memory of their own, and of everything in the arena.
    fn new(g: &Graph, mut places: Vec<Option<(Region, u64)>>, lives: &[Live], arena_bytes: u64) -> Placement {
        let mut scratch = vec![0..0; g.body.nodes.len()];
        for live in lives {
            match live.what {
                What::Value(value) => places[value.at()] = Some((Region::Arena, live.at)),
                What::Scratch(node) => scratch[node] = live.at..live.at + live.bytes,
            }
        }
        Placement { places, scratch, arena_bytes }
    }
}

/// Values with memory of their own. Versions of a state share it.
fn fixed(g: &Graph, cx: &Context) -> Vec<Option<(Region, u64)>> {
    let mut places = vec![None; g.body.types.len()];
    for (source, v) in g.inputs().chain(g.outputs()) {
        places[v.at()] = cx.region(source).map(|region| (region, 0));
    }
    for node in &g.body.nodes {
        node.versions().for_each(|(state, next)| places[next.at()] = places[state.at()]);
    }
    places
}

/// A user of bytes of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Value(ValueId),
    /// Of a node.
    Scratch(usize),
}

/// A value or scratch in the arena and the nodes between which it must be there, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Live {
    what: What,
    bytes: u64,
    first: usize,
    last: usize,
    at: u64,
}

fn lifetimes(g: &Graph, bucket: &Sizes, in_arena: impl Fn(ValueId) -> bool) -> Vec<Live> {
    let mut last = vec![0; g.body.types.len()];
    for (i, node) in g.body.nodes.iter().enumerate() {
        node.ins.iter().chain(&node.outs).for_each(|v| last[v.at()] = i);
    }
    let mut lives = Vec::new();
    for (first, node) in g.body.nodes.iter().enumerate() {
        for &value in node.outs.iter().filter(|v| in_arena(**v)) {
            let bytes = g.body.ty(value).bytes(bucket);
            lives.push(Live { what: What::Value(value), bytes, first, last: last[value.at()], at: 0 });
        }
    }
    lives
}

/// From the node before that has scratch to the node after that has some.
fn scratch_lifetimes(scratch: &[u64]) -> impl Iterator<Item = Live> {
    let nodes: Vec<usize> = (0..scratch.len()).filter(|node| scratch[*node] > 0).collect();
    (0..nodes.len()).map(move |i| {
        let (first, last) = (nodes[i.saturating_sub(1)], nodes[(i + 1).min(nodes.len() - 1)]);
        Live { what: What::Scratch(nodes[i]), bytes: scratch[nodes[i]], first, last, at: 0 }
    })
}

/// Gives every value its offset: the largest first, each at the lowest place that is free while it lives. The bytes of
/// the arena, or `None` if they can't be counted.
fn place(lives: &mut [Live]) -> Option<u64> {
    lives.sort_by_key(|l| (Reverse(l.bytes), l.first, l.what));
    let nodes = lives.iter().map(|l| l.last + 1).max().unwrap_or(0);
    let mut placed = Placed::new(nodes);
    let mut busy = Vec::new();
    let mut arena = 0;
    for live in lives {
        let bytes = live.bytes.max(1).checked_next_multiple_of(ALIGN)?;
        busy.clear();
        placed.during(live.first, live.last, |range| busy.push(range));
        busy.sort_unstable();
        let mut at = 0u64;
        for &(start, end) in &busy {
            if at.checked_add(bytes)? <= start {
                break;
            }
            at = at.max(end);
        }
        let end = at.checked_add(bytes)?;
        live.at = at;
        placed.add(live.first, live.last, (at, end));
        arena = arena.max(end);
    }
    Some(arena)
}

/// Start and end in the arena.
type Bytes = (u64, u64);

/// The bytes of values that were placed, by when they live. Values number as many as nodes and most live shortly, so a
/// question must cost what it finds and not look at all of them.
struct Placed {
    nodes: usize,
    /// A segment tree over the nodes: each value is in the few parts that make up its lifetime.
    living: Vec<Vec<Bytes>>,
    /// By the node where they begin.
    beginning: BTreeMap<usize, Vec<Bytes>>,
}

impl Placed {
    fn new(nodes: usize) -> Placed {
        Placed { nodes, living: vec![Vec::new(); 2 * nodes], beginning: BTreeMap::new() }
    }

    fn add(&mut self, first: usize, last: usize, bytes: Bytes) {
        self.beginning.entry(first).or_default().push(bytes);
        let (mut from, mut to) = (self.nodes + first, self.nodes + last + 1);
        while from < to {
            if from % 2 == 1 {
                self.living[from].push(bytes);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                self.living[to].push(bytes);
            }
            (from, to) = (from / 2, to / 2);
        }
    }

    /// Passes all values to `found` that are alive at a node of `first..=last`, each once: the values that are alive at
    /// `first`, and the values that begin after it.
    fn during(&self, first: usize, last: usize, mut found: impl FnMut(Bytes)) {
        let mut part = self.nodes + first;
        while part > 0 {
            self.living[part].iter().for_each(|b| found(*b));
            part /= 2;
        }
        self.beginning.range(first + 1..last + 1).flat_map(|(_, all)| all).for_each(|b| found(*b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes::choose::choose;
    use crate::passes::lower::lower;
    use crate::passes::select::{Selection, select};
    use crate::{Tracer, check, test_support};
    use inkstone_compute::{Caps, Port};
    use inkstone_tensor::{Dim, Type};
    use std::collections::BTreeSet;

    fn bucket() -> Sizes {
        Sizes { rows: 3, logit_rows: 1, slots: Default::default() }
    }

    /// Values that outlive others: a residual over a chain.
    fn graph() -> Graph {
        let t = Tracer::new("g", &test_support::Shapes(&[]));
        let mut x = t.silu(t.input(Port::HIDDEN, Type::f32(Dim::Rows, 5))).unwrap();
        for _ in 0..3 {
            let h = t.silu(t.silu(x).unwrap()).unwrap();
            x = t.add(x, h).unwrap();
        }
        t.output(Port::LOGITS, x);
        t.finish().unwrap()
    }

    fn with<T>(g: &Graph, f: impl FnOnce(&Context) -> T) -> T {
        let (caps, registry) = (Caps::made_up("made-up"), test_support::registry());
        let (selection, _): (Selection, _) = select(&[(g, &[bucket()])], &caps, &registry).unwrap();
        f(&Context { caps: &caps, registry: &registry, selection: &selection, bucket: bucket(), without: &[] })
    }

    #[test]
    fn values_that_do_not_meet_share_bytes_on_whole_lines() {
        let g = graph();
        let placement = with(&g, |cx| memory(&g, &[], cx)).unwrap();
        let offsets = placement.places.iter().flatten().filter(|(region, _)| *region == Region::Arena);
        assert!(offsets.clone().all(|(_, at)| at % ALIGN == 0));
        assert_eq!((offsets.count(), placement.arena_bytes), (9, 3 * 64), "three values of 60 bytes live at once");
    }

    #[test]
    fn results_that_nobody_reads_have_bytes_of_their_own_while_their_op_runs() {
        for read in 0..2 {
            let t = Tracer::new("g", &test_support::Shapes(&[]));
            let x = t.silu(t.input(Port::HIDDEN, Type::f32(Dim::Rows, 5))).unwrap();
            let made = t.op(test_support::both(x.ty()), &[x]).unwrap();
            t.output(Port::LOGITS, t.silu(made[read]).unwrap());
            let g = t.finish().unwrap();
            let (caps, registry, selection) =
                (Caps::made_up("made-up"), test_support::registry(), Selection::default());
            let cx = Context { bucket: bucket(), ..Context::unselected(&caps, &registry, &selection) };
            let placement = memory(&g, &[], &cx).unwrap();
            let arena = placement.places.iter().flatten().filter(|(region, _)| *region == Region::Arena);
            let offsets: BTreeSet<u64> = arena.map(|(_, at)| *at).collect();
            assert_eq!(offsets, BTreeSet::from([0, 64, 128]), "the operand and both results, result {read} is read");
        }
    }

    /// The same by the obvious search.
    fn placed_by_search(lives: &mut [Live]) -> u64 {
        lives.sort_by_key(|l| (Reverse(l.bytes), l.first, l.what));
        let size = |l: &Live| l.bytes.next_multiple_of(ALIGN);
        for i in 0..lives.len() {
            let (placed, rest) = lives.split_at_mut(i);
            let live = &mut rest[0];
            let free = |at: u64| {
                let meets = |p: &&Live| p.first <= live.last && live.first <= p.last;
                placed.iter().filter(meets).all(|p| at + size(live) <= p.at || p.at + size(p) <= at)
            };
            live.at = (0..).step_by(ALIGN as usize).find(|at| free(*at)).unwrap();
        }
        lives.iter().map(|l| l.at + size(l)).max().unwrap_or(0)
    }

    #[test]
    fn every_value_gets_the_lowest_place_that_is_free() {
        let mut state = 1u64;
        let mut below = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for count in [0, 1, 2, 3, 7, 40, 100] {
            let mut lives: Vec<Live> = Vec::new();
            for i in 0..count {
                let first = below(count) as usize;
                let last = first + below([4, count][(i % 2) as usize]) as usize;
                lives.push(Live { what: What::Value(ValueId(i as u32)), bytes: 1 + below(500), first, last, at: 0 });
            }
            let mut searched = lives.clone();
            assert_eq!(place(&mut lives), Some(placed_by_search(&mut searched)));
            assert_eq!(lives, searched, "{count} values");
        }
    }

    #[test]
    fn scratch_lies_apart_from_neighbouring_scratch_and_from_what_lives_meanwhile() {
        let g = graph();
        let count = g.body.nodes.len();
        let scratch: Vec<u64> = (0..count as u64).map(|node| if node % 2 == 0 { 100 + node } else { 0 }).collect();
        with(&g, |cx| {
            let placement = memory(&g, &scratch, cx).unwrap();
            let bytes = placement.scratch.iter().map(|range| range.end - range.start);
            assert!(
                bytes.eq(scratch.iter().copied()) && placement.scratch.iter().all(|range| range.start % ALIGN == 0)
            );
            let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
            for node in (2..count).step_by(2) {
                let [before, own] = [node - 2, node].map(|node| &placement.scratch[node]);
                assert!(!meet(before, own), "{before:?} of node {} and {own:?} of node {node}", node - 2);
            }
            let plan = lower(&g, choose(&g, cx).unwrap(), &placement, cx);
            check(&plan).unwrap();
            plan.check().unwrap();
            // Every other one may be in the same place.
            let values = memory(&g, &[], cx).unwrap().arena_bytes;
            assert!(placement.arena_bytes <= values + 4 * 128, "{} and {values}", placement.arena_bytes);
        });
    }

    #[test]
    fn every_version_of_a_state_is_in_its_place() {
        let t = Tracer::new("g", &test_support::Shapes(&[]));
        let carry = t.carry();
        let rows = t.begin_step(&carry).unwrap();
        let carry = t.advance(t.advance(carry, rows).unwrap(), rows).unwrap();
        t.keep(carry);
        let g = t.finish().unwrap();
        let placement = with(&g, |cx| memory(&g, &[], cx)).unwrap();
        let states = placement.places.iter().flatten().filter(|(region, _)| *region == Region::State(0));
        assert_eq!(states.count(), 3);
    }

    #[test]
    fn a_lifetime_one_step_short_is_found() {
        let g = graph();
        with(&g, |cx| {
            let sound = memory(&g, &[], cx).unwrap();
            let plan = |placement: &Placement| lower(&g, choose(&g, cx).unwrap(), placement, cx);
            check(&plan(&sound)).unwrap();
            let mut found = 0;
            let count = lifetimes(&g, &cx.bucket, |v| sound.places[v.at()].is_some_and(|p| p.0 == Region::Arena)).len();
            for short in 0..count {
                let places = fixed(&g, cx);
                let mut lives = lifetimes(&g, &cx.bucket, |v| places[v.at()].is_none());
                lives[short].last -= 1;
                let arena_bytes = place(&mut lives).unwrap();
                // A short life does harm only where another value moves in.
                let result = check(&plan(&Placement::new(&g, places, &lives, arena_bytes)));
                found += usize::from(result.is_err());
            }
            assert!(found >= 4, "{found} of {count}");
        });
    }

    #[test]
    fn sizes_that_overflow_are_an_error() {
        let g = graph();
        let huge = Sizes { rows: usize::MAX / 8, ..bucket() };
        let error = with(&g, |cx| memory(&g, &[], &Context { bucket: huge, ..*cx })).unwrap_err();
        assert!(error.to_string().contains("need more than 2^64 bytes"), "{error}");
        let error = with(&g, |cx| memory(&g, &[u64::MAX - 100, u64::MAX - 100], cx)).unwrap_err();
        assert!(error.to_string().contains("need more than 2^64 bytes"), "{error}");
    }
}
