//! Graphs to plans: the order of the passes, and the plans that come out.

use crate::check::check;
use crate::fuse::{check_names, fuse};
use crate::graph::Graph;
use crate::kind::{Kind, Part, Wants};
use crate::passes::choose::choose;
use crate::passes::legalise::legalise;
use crate::passes::lower::lower;
use crate::passes::memory::memory;
use crate::passes::select::{Buckets, Selection, select};
use crate::passes::simplify::simplify;
use crate::passes::{Context, Note, Pass, Report};
use crate::{Error, Result};
use inkstone_compute::{Caps, Interface, Plan, Registry};
use inkstone_tensor::{Dim, Sizes, Slots};
use std::borrow::Borrow;
use std::sync::Arc;

/// Before anything is chosen, once a graph: a use that goes away must not weigh in a choice.
const BEFORE_SELECT: &[(&str, Pass)] = &[("simplify", simplify)];

/// After [`select`] has chosen over all graphs, for each bucket. Fusion is behind `legalise`, so that a region can take
/// a `quantize` in; [`memory`], [`lower`] and [`check`] follow.
const FOR_EACH_BUCKET: &[(&str, Pass)] = &[("legalise", legalise), ("fuse", fuse)];

/// A model for one engine: for each kind of plan one a bucket, which share weights, states and ports.
#[derive(Clone, Debug)]
pub struct Compiled {
    interface: Arc<Interface>,
    /// Ascending by bucket.
    plans: Vec<(Kind, Vec<Plan>)>,
    report: Report,
    rows: Vec<usize>,
    logit_rows: Vec<usize>,
    slots: Slots,
}

/// Compiles graphs, each of another kind, for the buckets that `caps` names and caches of `slots` places in each layer
/// group. Graphs share the weights, states and ports that have one name. Fusions whose names are in `without` ([`fusions`](crate::fusions)) are left out,
/// and so are selections of tokens that the engine has no kernels for: there is no plan of that kind, and the report says why.
///
/// # Errors
/// Graphs that disagree about what they share, a cache whose group has no places, ops that the engine has no kernels for,
/// sizes that overflow, names of no fusion.
pub fn compile(
    graphs: &[(Kind, impl Borrow<Graph>)],
    caps: &Caps,
    registry: &Registry,
    slots: Slots,
    without: &[String],
) -> Result<Compiled> {
    check_names(without)?;
    for (kind, _) in graphs {
        let count = graphs.iter().filter(|(k, _)| k == kind).count();
        if count > 1 {
            return Err(Error::Kind { kind: *kind, count });
        }
    }
    let rows = buckets(caps, "rows", &caps.rows)?;
    let logit_rows = buckets(caps, "logit rows", &caps.logit_rows)?;
    let mut report = Report::default();

    let unselected = Selection::default();
    let before = Context::unselected(caps, registry, &unselected);
    let mut simple: Vec<(Kind, Graph, Vec<Sizes>)> = Vec::new();
    for (kind, g) in graphs {
        let mut g = g.borrow().clone();
        report.add(run(BEFORE_SELECT, &mut g, &before)?);
        simple.push((*kind, g, sizes(*kind, &rows, &logit_rows, slots)));
    }

    simple.retain(|(kind, g, sizes)| match left_out(*kind, (g, sizes), caps, registry) {
        None => true,
        Some(reason) => {
            let text = format!("left out, the host does its work: {reason}");
            report.add(Report::line("compile", kind.to_string(), text));
            false
        }
    });

    let all: Vec<Buckets> = simple.iter().map(|(_, g, sizes)| (g, &sizes[..])).collect();
    let (selection, selected) = select(&all, caps, registry)?;
    report.add(selected);
    check_places(selection.interface(), &slots)?;

    let mut plans = Vec::new();
    for (kind, g, sizes) in &simple {
        let mut of_kind = Vec::new();
        for &bucket in sizes {
            let cx = Context { caps, registry, selection: &selection, bucket, without };
            let mut g = g.clone();
            let mut made = run(FOR_EACH_BUCKET, &mut g, &cx)?;
            made.notes.iter_mut().for_each(|note| note.plan = Some((*kind, bucket)));
            report.add(made);
            let chosen = choose(&g, &cx)?;
            let scratch: Vec<u64> = chosen.iter().map(|c| c.work.scratch).collect();
            let placement = memory(&g, &scratch, &cx)?;
            let plan = lower(&g, chosen, &placement, &cx);
            check(&plan)?;
            of_kind.push(plan);
        }
        plans.push((*kind, of_kind));
    }
    Ok(Compiled { interface: selection.interface().clone(), plans, report, rows, logit_rows, slots })
}

/// Why the engine has no kernels for a graph that a step can do without: where no graph selects tokens, the host does.
fn left_out(kind: Kind, graph: Buckets, caps: &Caps, registry: &Registry) -> Option<Error> {
    let without = || select(&[graph], caps, registry).err().filter(|error| matches!(error, Error::Unserved { .. }));
    (kind.part == Part::Select).then(without).flatten()
}

/// Runs passes in order. In tests and debug builds the graph is verified after each pass, and a fault is a bug of the
/// pass.
fn run(passes: &[(&str, Pass)], g: &mut Graph, cx: &Context) -> Result<Report> {
    let mut report = Report::default();
    for (name, pass) in passes {
        report.add(pass(g, cx)?);
        if cfg!(debug_assertions) {
            let faults = g.faults();
            if !faults.is_empty() {
                return Err(Error::Invalid { graph: format!("{} after {name}", g.name), faults });
            }
        }
    }
    Ok(report)
}

/// Every cache is in a layer group that has places.
fn check_places(interface: &Interface, slots: &Slots) -> Result<()> {
    for state in &interface.states {
        let Dim::Slots { group, .. } = state.ty.rows else { continue };
        if slots.of(group) == 0 {
            return Err(Error::NoPlaces { state: state.name.to_string(), group });
        }
    }
    Ok(())
}

fn buckets(caps: &Caps, what: &'static str, sizes: &[usize]) -> Result<Vec<usize>> {
    let mut sizes: Vec<usize> = sizes.iter().copied().filter(|n| *n > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() { Err(Error::NoBuckets { engine: caps.name.clone(), what }) } else { Ok(sizes) }
}

/// The buckets of a kind of plan; a size that it is not cut by is the largest.
fn sizes(kind: Kind, rows: &[usize], logit_rows: &[usize], slots: Slots) -> Vec<Sizes> {
    let largest = |sizes: &[usize]| sizes.last().copied().unwrap_or(0);
    let all = Sizes { rows: largest(rows), logit_rows: largest(logit_rows), slots };
    match kind.buckets() {
        Some(Dim::Rows) => rows.iter().map(|&rows| Sizes { rows, ..all }).collect(),
        Some(_) => logit_rows.iter().map(|&logit_rows| Sizes { logit_rows, ..all }).collect(),
        None => vec![all],
    }
}

impl Compiled {
    /// Weights, states and ports, the same for all plans.
    pub fn interface(&self) -> &Arc<Interface> {
        &self.interface
    }

    /// The same for caches of `slots` places in each layer group. Nothing else of a plan depends on their number, so that
    /// it can be chosen when the size of everything else is known.
    ///
    /// # Errors
    /// A cache whose group has no places.
    pub fn with_slots(mut self, slots: Slots) -> Result<Compiled> {
        check_places(&self.interface, &slots)?;
        self.slots = slots;
        self.plans.iter_mut().flat_map(|(_, plans)| plans).for_each(|plan| plan.bucket.slots = slots);
        Ok(self)
    }

    /// All plans, by kind, then ascending by bucket.
    pub fn all_plans(&self) -> impl Iterator<Item = &Plan> {
        self.plans.iter().flat_map(|(_, plans)| plans)
    }

    /// The buckets of rows, ascending.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// The buckets of logit rows, ascending.
    pub fn logit_rows(&self) -> &[usize] {
        &self.logit_rows
    }

    /// The plans of a kind, one a bucket, ascending.
    pub fn plans(&self, kind: Kind) -> &[Plan] {
        self.plans.iter().find(|(k, _)| *k == kind).map_or(&[], |(_, plans)| plans)
    }

    /// The results of a step that decodes: tokens, or logits if the engine has no kernels that draw.
    pub fn decodes(&self) -> Wants {
        if self.plans(Kind::SELECT).is_empty() { Wants::LOGITS } else { Wants::TOKENS }
    }

    /// The changes that the passes made.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The same for one plan that [`Compiled::step`] gives for these kinds.
    pub fn report_of(&self, plan: &Plan, kinds: &[Kind]) -> Report {
        let of_plan = |note: &&Note| match note.plan {
            Some((kind, bucket)) => {
                let same = kind.buckets().is_none_or(|dim| dim.at(&bucket) == dim.at(&plan.bucket));
                same && kinds.contains(&kind)
            }
            None => true,
        };
        Report { notes: self.report.notes.iter().filter(of_plan).cloned().collect() }
    }

    /// The largest buckets: ports and states of these sizes serve all plans.
    pub fn largest(&self) -> Sizes {
        let largest = |sizes: &[usize]| sizes.last().copied().unwrap_or(0);
        Sizes { rows: largest(&self.rows), logit_rows: largest(&self.logit_rows), slots: self.slots }
    }

    /// Bytes of an arena that serves all plans and all steps made of them.
    pub fn arena_bytes(&self) -> u64 {
        self.all_plans().map(|p| p.arena_bytes).max().unwrap_or(0)
    }

    /// One plan for a step with this number of rows and logit rows, linked from the plans of these kinds in order
    /// ([`Wants::kinds`](crate::Wants::kinds)). [`Plan::bucket`] is its capacity. If a step has more logit rows than a
    /// bucket holds, the head and what follows it run again for each further window. If none of the kinds depends on a size, the largest size is used, so
    /// that one plan serves all.
    ///
    /// # Errors
    /// [`Error::NoBucket`] if no bucket holds the rows, [`Error::Kind`] for a kind that was not compiled.
    pub fn step(&self, rows: usize, logit_rows: usize, kinds: &[Kind]) -> Result<Plan> {
        let fit = |what, value, sizes: &[usize], dim: Dim| {
            let largest = sizes.last().copied().unwrap_or(0);
            let cuts = kinds.iter().any(|k| k.buckets() == Some(dim));
            let fitting = if cuts { sizes.iter().copied().find(|n| *n >= value) } else { Some(largest) };
            fitting.filter(|n| *n >= value).ok_or(Error::NoBucket { what, value, largest })
        };
        let rows = fit("rows", rows, &self.rows, Dim::Rows)?;
        let logit_rows = fit("logit rows", logit_rows, &self.logit_rows, Dim::LogitRows)?;
        let bucket = Sizes { rows, logit_rows, slots: self.slots };
        let holds = |p: &&Plan| p.bucket.rows >= rows && p.bucket.logit_rows >= logit_rows;
        let part = |kind: &Kind| self.plans(*kind).iter().find(holds).ok_or(Error::Kind { kind: *kind, count: 0 });
        let parts = kinds.iter().map(part).collect::<Result<Vec<&Plan>>>()?;
        let linked = Plan::link(&parts).ok_or(Error::EmptyStep)?;
        // A smaller bucket than a plan was made for is always sound: its values only shrink.
        Ok(Plan { bucket, ..linked })
    }
}
