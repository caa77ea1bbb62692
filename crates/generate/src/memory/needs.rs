//! The memory of a model, added up from shapes.

use super::{Windows, sum};
use crate::request::sampler_words;
use crate::{Error, Result};
use inkstone_compute::{Engine, KEPT, Port};
use inkstone_graph::Compiled;
use inkstone_tensor::ops::SCORES;
use inkstone_tensor::step::{SEQS, StepBuffer};
use inkstone_tensor::{Dim, Group, Sizes, Slots, Type};

/// The memory that a compiled model needs in its engine, in bytes, and the memory that is left for the cache. It follows from
/// shapes, so it is known before anything is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Name of the engine.
    pub engine: String,
    /// The memory of the engine.
    pub memory: u64,
    /// The weights, in the layouts of the engine; without those that it uses where their file is mapped.
    pub weights: u64,
    /// Values between the steps of a plan, and between plans.
    pub values: u64,
    /// The step buffer without page tables.
    pub step: u64,
    /// The results on their way to the host.
    pub back: u64,
    /// States whose size does not depend on the number of tokens.
    pub carry: u64,
    /// A page of the cache: keys, values and ids of its tokens, in all layers without a window.
    pub page: u64,
    /// The pools of layer groups with windows.
    pub windows: Windows,
    /// The entries of the page tables for a page of the context.
    pub table: u64,
    /// The most pages of which a kernel reaches every state.
    pub most: u64,
}

impl Needs {
    /// The needs of plans on an engine, with pages of `page` tokens and tables for `sequences` sequences.
    pub(crate) fn of(
        compiled: &Compiled,
        engine: &dyn Engine,
        groups: &[Group],
        page: usize,
        sequences: usize,
    ) -> Needs {
        let (interface, largest, caps) = (compiled.interface(), compiled.largest(), engine.caps());
        let grows = |ty: &Type| matches!(ty.rows, Dim::Slots { .. });
        let of_page = Sizes { slots: Slots::every_group(page), ..largest };
        let states = interface.states.iter().map(|s| s.ty);
        let vocab = interface.port(Port::LOGITS).map_or(0, |ty| ty.cols);
        let step = StepBuffer::max_words(largest.rows, 0, sampler_words(vocab, sequences)) as u64;
        let of_group = |group: usize| {
            sum(states.clone().filter(|ty| grows(ty) && ty.rows.group() == group).map(|ty| ty.bytes(&of_page)))
        };
        let widest = states.clone().filter(grows).map(|ty| ty.bytes(&of_page)).max();
        Needs {
            engine: caps.name.clone(),
            memory: caps.memory,
            weights: engine.weight_bytes(&interface.weights),
            values: values(compiled),
            step: step.saturating_mul(4),
            back: back(vocab, largest.logit_rows),
            carry: sum(states.clone().filter(|ty| !grows(ty)).map(|ty| ty.bytes(&largest))),
            page: of_group(0),
            windows: Windows::of(groups, page, largest.rows, sequences, of_group),
            table: (sequences * groups.len().max(1) * 4) as u64,
            most: caps.binding.checked_div(widest.unwrap_or(0)).unwrap_or(u64::MAX),
        }
    }

    /// The bytes that everything but the cache needs.
    pub fn fixed(&self) -> u64 {
        sum([self.weights, self.values, self.step, self.back, self.carry])
    }

    /// The bytes that are left for the cache.
    pub fn free(&self) -> u64 {
        self.memory.saturating_sub(self.fixed())
    }

    /// The least bytes of a cache of `pages` pages for contexts of `context` pages, in which one sequence has its windows.
    pub fn cache(&self, context: u64, pages: u64) -> u64 {
        let full = pages.saturating_mul(self.page).saturating_add(context.saturating_mul(self.table));
        full.saturating_add(self.windows.least(context))
    }

    /// The pages of the largest context that fits in `bytes`, in a cache of the same size.
    pub fn pages(&self, bytes: u64) -> u64 {
        let (mut fits, mut exceeds) = (0, self.most.saturating_add(1));
        while exceeds - fits > 1 {
            let middle = fits + (exceeds - fits) / 2;
            *(if self.cache(middle, middle) <= bytes { &mut fits } else { &mut exceeds }) = middle;
        }
        fits
    }

    /// The pages of each layer group with a window, next to a cache of `pages` pages in `bytes` bytes.
    pub fn window_pages(&self, context: u64, pages: u64, bytes: u64) -> Vec<u64> {
        let rest = bytes.saturating_sub(self.cache(context, pages)).saturating_add(self.windows.least(context));
        self.windows.pages(context, rest, self.most)
    }

    /// The error of a model that does not fit with a cache of `pages` pages for contexts of `context` pages.
    pub fn too_large(&self, context: u64, pages: u64) -> Error {
        Error::ModelMemory {
            engine: self.engine.clone(),
            weights: self.weights,
            values: sum([self.values, self.step, self.back, self.carry]),
            cache: self.cache(context, pages),
            memory: self.memory,
        }
    }

    /// Checks that a cache fits.
    ///
    /// # Errors
    /// [`Error::ModelMemory`], and [`Error::Binding`] if a kernel does not reach the whole cache of a layer.
    pub(crate) fn check(&self, context: u64, pages: u64) -> Result<()> {
        if pages > self.most {
            return Err(Error::Binding {
                engine: self.engine.clone(),
                what: "cache",
                unit: "pages",
                needs: pages,
                most: self.most,
            });
        }
        let fits = self.cache(context, pages) <= self.free() && self.fixed() <= self.memory;
        if fits { Ok(()) } else { Err(self.too_large(context, pages)) }
    }
}

/// Values between the steps of a plan, and between plans.
pub(super) fn values(compiled: &Compiled) -> u64 {
    let largest = compiled.largest();
    let ports = compiled.interface().ports.iter().map(|(_, ty)| ty.bytes(&largest));
    sum(ports.chain([compiled.arena_bytes()]))
}

/// The results that the last submits keep: rows of the ring, scores, and one window of logits.
fn back(vocab: usize, logit_rows: usize) -> u64 {
    let rows = SEQS.saturating_mul(1 + SCORES.cols).saturating_mul(KEPT);
    (rows.saturating_add(vocab.saturating_mul(logit_rows)) as u64).saturating_mul(4)
}
