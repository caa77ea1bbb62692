//! Draws of the host, by the definition: where the engine does not draw by a chain, has no kernels that draw, or leaves a
//! draw to the host because it can't decide.

use crate::Result;
use crate::flight::{Drawn, Fetch};
use crate::memory::reserve;
use crate::sequence::{Sampling, Sequence};
use inkstone_compute::Engine;
use inkstone_graph::{Compiled, Kind};
use inkstone_tensor::ops::{SCORES, Score};
use inkstone_tensor::sampling::Workspace;
use inkstone_tensor::step::record::Record;
use inkstone_tensor::step::{NONE, Sampler};

/// Draws the tokens of a sequence. A sequence of the host feeds the token that was drawn last instead of finding it on the
/// device, so that it has one step under way at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawer {
    /// The device.
    Device,
    /// The host.
    Host,
    /// The host draws the next token, which the device has left to it; then the device goes on.
    HostOnce,
}

impl Drawer {
    /// The drawer of such tokens on this engine, with these plans.
    pub fn of(engine: &dyn Engine, compiled: &Compiled, sampling: Sampling) -> Drawer {
        let kind = if sampling.scored { Kind::SELECT_SCORED } else { Kind::SELECT };
        let draws = || Sampler::decode(sampling.words).is_ok_and(|sampler| engine.draws(sampler.chain));
        if compiled.plans(kind).is_empty() || !draws() { Drawer::Host } else { Drawer::Device }
    }
}

/// A row from whose logits the host draws.
pub(crate) struct HostRow<'a> {
    /// How its token is drawn.
    pub sampling: Sampling<'a>,
    /// The tokens of its sequence, as far as the sampler reads them.
    pub tokens: &'a [u32],
    /// Its position.
    pub position: usize,
}

impl Sequence {
    /// The row of its last token.
    pub fn host_row(&self) -> Option<HostRow<'_>> {
        let sampling = self.goal.sampling()?;
        Some(HostRow { sampling, tokens: &self.tokens, position: self.tokens.len() - 1 })
    }

    /// The device has left a draw to the host. The row is taken back, to be computed again for its logits; the slot is set
    /// up anew with the length before it. The results of steps behind it are void.
    pub fn leave_to_host(&mut self) {
        self.draws = self.output.lock().usage.completion_tokens;
        (self.known, self.fed, self.begun) = (self.tokens.len(), self.tokens.len() - 1, false);
        (self.drawer, self.void) = (Drawer::HostOnce, self.flights);
    }

    /// The host has drawn a token, which the next step feeds.
    pub fn drawn_by_host(&mut self) {
        self.known = self.tokens.len();
        if self.drawer == Drawer::HostOnce {
            self.drawer = Drawer::Device;
        }
    }
}

/// Draws from the logits of a step that lands. The memory is kept from step to step.
#[derive(Default)]
pub(crate) struct HostDraws {
    workspace: Workspace,
    logits: Vec<f32>,
    results: Vec<HostDraw>,
}

/// The result of a row.
struct HostDraw {
    /// The number of its part.
    id: u64,
    record: u32,
    scores: Option<[u32; SCORES.cols]>,
}

impl HostDraws {
    /// Forgets the results of the step before.
    pub fn clear(&mut self) {
        self.results.clear();
    }

    /// Draws for the part with this number from logits that `fetch` writes. A sequence for which there is no memory gets the
    /// same status as on a device.
    pub fn draw(&mut self, id: u64, row: &HostRow, values: usize, fetch: &mut Fetch) -> Result<()> {
        self.logits.clear();
        let record = match reserve(&mut self.logits, values, "logits") {
            Ok(()) => {
                self.logits.resize(values, 0.0);
                fetch(&mut self.logits)?;
                self.record(row)
            }
            Err(_) => Record::NoMemory,
        };
        let record = record.encode();
        let scores = row.sampling.scored.then(|| Score::row(&mut self.workspace, &self.logits, record));
        self.results.push(HostDraw { id, record, scores });
        Ok(())
    }

    fn record(&mut self, row: &HostRow) -> Record {
        let Ok(sampler) = Sampler::decode(row.sampling.words) else { return Record::BadChain };
        let read = row.tokens.get(sampler.reads(row.position)).unwrap_or_default();
        sampler.draw(&mut self.workspace, &self.logits, read, row.position)
    }

    /// The result of the part with this number.
    pub fn drawn(&self, id: u64) -> Drawn<'_> {
        let result = self.results.iter().find(|result| result.id == id);
        Drawn {
            record: result.map_or(NONE, |result| result.record),
            scores: result.and_then(|result| result.scores.as_ref()).map(|words| &words[..]),
        }
    }
}
