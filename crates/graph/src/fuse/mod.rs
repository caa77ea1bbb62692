//! Fusion by proposal. A proposal names nodes that one kernel could compute together, with operands and results in the
//! order that kernels expect. If the engine has such a kernel with the arithmetic of the separate nodes, they become a
//! region; otherwise they are not changed, and the report gives the reason. So a fused plan computes the same bits as
//! an unfused one.
//!
//! Proposals are tried in the order of [`fusions`], each on the whole graph, the largest first.

mod flow;
mod glu;
mod linear_map;
mod maps;
mod norm_linear;
mod norm_map;
mod norm_quantize;
mod prologue;
mod region;
mod rope_attend;

use crate::graph::Graph;
use crate::passes::{Context, Report};
use crate::{Error, Result};
use flow::{Flow, NodeId};
use region::Draft;
use std::collections::{BTreeMap, BTreeSet};

/// How a proposal works.
enum Find {
    /// An element-by-element op takes those before it in.
    Chain,
    /// The possible regions around a node, the best first.
    Region(fn(&Flow, NodeId) -> Vec<Draft>),
}

/// Every fusion by name, in the order in which they are tried. A region's name is the one that its kernels implement.
const PROPOSALS: &[(&str, Find)] = &[
    ("map", Find::Chain),
    ("norm_glu", Find::Region(glu::norm_glu)),
    ("glu", Find::Region(glu::glu)),
    ("norm_linear_map", Find::Region(linear_map::norm_linear_map)),
    ("linear_map", Find::Region(linear_map::linear_map)),
    ("norm_linear", Find::Region(norm_linear::norm_linear)),
    ("quantize_linear", Find::Region(norm_linear::quantize_linear)),
    ("norm_map", Find::Region(norm_map::norm_map)),
    ("norm_quantize", Find::Region(norm_quantize::norm_quantize)),
    ("norm_rope_attend", Find::Region(rope_attend::norm_rope_attend)),
    ("rope_attend", Find::Region(rope_attend::rope_attend)),
];

/// The names of all fusions, in the order in which they are tried; each can be switched off.
pub fn fusions() -> impl Iterator<Item = &'static str> {
    PROPOSALS.iter().map(|(name, _)| *name)
}

/// That these are names of fusions.
///
/// # Errors
/// [`Error::UnknownFusion`] with the names that there are.
pub(crate) fn check_names(names: &[String]) -> Result<()> {
    match names.iter().find(|name| !fusions().any(|known| known == name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let known = fusions().collect::<Vec<_>>().join(", ");
            Err(Error::UnknownFusion { name: name.clone(), known })
        }
    }
}

/// See the [module](self).
///
/// # Errors
/// None.
pub fn fuse(g: &mut Graph, cx: &Context) -> Result<Report> {
    let mut flow = Flow::new(std::mem::replace(g, Graph::new("")));
    let mut report = Report::default();
    for (name, find) in PROPOSALS.iter().filter(|(name, _)| !cx.without.iter().any(|w| w == name)) {
        let mut counts = Counts::default();
        for anchor in flow.nodes() {
            match find {
                Find::Chain => maps::absorb(&mut flow, anchor, cx, &mut counts),
                Find::Region(find) => {
                    let drafts = find(&flow, anchor);
                    region::try_drafts(&mut flow, name, drafts, cx, &mut counts);
                }
            }
        }
        report.add(counts.report(name, flow.name(), cx));
    }
    *g = flow.finish();
    Ok(report)
}

/// How often a proposal came about, by kernel, and how often not, by reason.
#[derive(Default)]
struct Counts {
    fused: BTreeMap<String, usize>,
    dissolved: BTreeMap<String, usize>,
}

impl Counts {
    fn fused(&mut self, kernel: &str) {
        *self.fused.entry(kernel.to_owned()).or_default() += 1;
    }

    /// Counts the reasons why regions around one node were rejected, each reason once.
    fn dissolved(&mut self, reasons: Vec<String>) {
        for reason in reasons.into_iter().collect::<BTreeSet<String>>() {
            *self.dissolved.entry(reason).or_default() += 1;
        }
    }

    fn report(self, name: &str, graph: &str, cx: &Context) -> Report {
        let bucket = format!("(up to {} rows, {} logit rows)", cx.bucket.rows, cx.bucket.logit_rows);
        let mut report = Report::default();
        for (kernel, n) in self.fused {
            report.add(Report::line("fuse", graph, format!("{n} {name} by {kernel} {bucket}")));
        }
        for (reason, n) in self.dissolved {
            report.add(Report::line("fuse", graph, format!("{n} {name} dissolved {bucket}: {reason}")));
        }
        report
    }
}
