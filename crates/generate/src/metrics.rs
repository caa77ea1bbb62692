//! Counts of a model at work.

use crate::FinishReason;
use inkstone_tensor::step::GROUPS;
use std::collections::BTreeMap;
use std::fmt;

/// The counts of a model since it was opened, and its load at the moment. `Display` writes them in the text format of
/// Prometheus, with the names that vLLM uses behind the prefix `inkstone:`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Sequences that are resident.
    pub running: usize,
    /// Sequences that wait for a slot or for pages.
    pub waiting: usize,
    /// Pages of the cache that sequences hold, of layers without a window.
    pub held_pages: usize,
    /// All pages of the cache, of layers without a window.
    pub pages: usize,
    /// The pages of each layer group with a window that sequences hold, and all of them.
    pub windows: [(usize, usize); GROUPS - 1],
    /// Sequences that gave back their pages before they had ended.
    pub preemptions: u64,
    /// Tokens of prompts that were looked up in the cache, once per request.
    pub prefix_cache_queries: u64,
    /// Tokens of prompts that were found there.
    pub prefix_cache_hits: u64,
    /// Tokens of prompts.
    pub prompt_tokens: u64,
    /// Tokens that were drawn and given to their sequences.
    pub generation_tokens: u64,
    /// Tokens that the host drew: the engine does not draw by their chains, has no kernels that draw, or left them to the
    /// host.
    pub host_draws: u64,
    /// Sequences that have ended, by reason, in the order of [`FinishReason::ALL`].
    pub finished: [u64; FinishReason::ALL.len()],
    /// Steps of the model.
    pub steps: u64,
}

impl Metrics {
    /// The part of the cache's pages that sequences hold, 0 to 1, of the layer group with the largest part.
    pub fn cache_usage(&self) -> f64 {
        let groups = [(self.held_pages, self.pages)].into_iter().chain(self.windows);
        let parts = groups.filter(|(_, all)| *all > 0).map(|(held, all)| held as f64 / all as f64);
        parts.fold(0.0, f64::max)
    }

    pub(crate) fn ended(&mut self, reason: FinishReason) {
        if let Some(i) = FinishReason::ALL.iter().position(|r| *r == reason) {
            self.finished[i] += 1;
        }
    }
}

impl fmt::Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let gauges = [
            ("num_requests_running", "Sequences that are resident.", self.running as f64),
            ("num_requests_waiting", "Sequences that wait for a slot or for pages.", self.waiting as f64),
            ("kv_cache_usage_perc", "The part of the cache's pages that sequences hold.", self.cache_usage()),
        ];
        for (name, help, value) in gauges {
            writeln!(f, "# HELP inkstone:{name} {help}\n# TYPE inkstone:{name} gauge\ninkstone:{name} {value}")?;
        }
        let counters = [
            ("num_preemptions", "Sequences that gave back their pages before they had ended.", self.preemptions),
            ("prefix_cache_queries", "Tokens of prompts that were looked up in the cache.", self.prefix_cache_queries),
            ("prefix_cache_hits", "Tokens of prompts that were found in the cache.", self.prefix_cache_hits),
            ("prompt_tokens", "Tokens of prompts.", self.prompt_tokens),
            ("generation_tokens", "Tokens that were drawn.", self.generation_tokens),
            ("host_draws", "Tokens that the host drew in place of the engine.", self.host_draws),
            ("steps", "Steps of the model.", self.steps),
        ];
        for (name, help, value) in counters {
            writeln!(f, "# HELP inkstone:{name}_total {help}\n# TYPE inkstone:{name}_total counter")?;
            writeln!(f, "inkstone:{name}_total {value}")?;
        }
        let name = "inkstone:request_success_total";
        writeln!(f, "# HELP {name} Sequences that have ended, by reason.\n# TYPE {name} counter")?;
        // Two reasons may have one name.
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, count) in FinishReason::ALL.iter().zip(self.finished) {
            *by_name.entry(reason.name()).or_default() += count;
        }
        by_name.iter().try_for_each(|(reason, n)| writeln!(f, "{name}{{finished_reason=\"{reason}\"}} {n}"))
    }
}
