//! The logits of a row on their way through a chain.

use super::SampleError;
use super::truncate::below;
use crate::NoMemory;
use std::cmp::Ordering;

/// A token that is still there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its logit; above -infinity and not NaN.
    pub(super) z: f64,
    /// Its id.
    pub(super) id: u32,
}

impl Candidate {
    /// The order of everything: higher logit first, then lower id. Zeros of both signs are equal.
    pub(super) fn order(a: &Candidate, b: &Candidate) -> Ordering {
        a.key().cmp(&b.key())
    }

    /// Ascends in that order; an integer, as sorts compare these without branches.
    fn key(&self) -> u128 {
        let bits = (self.z + 0.0).to_bits(); // -0 + 0 is 0
        let negative = (bits as i64 >> 63) as u64;
        // The bits of negative numbers ascend as their values descend; the bits of other numbers are inverted.
        let descending = bits ^ (!negative >> 1);
        u128::from(descending) << 32 | u128::from(self.id)
    }
}

/// Logits that have a maximum of their own.
const PART: usize = 64;
/// Of them that a vector compares.
const LANES: usize = 8;

/// A temperature, and the largest logit.
#[derive(Clone, Copy, Debug)]
struct Heat {
    max: f64,
    temperature: f64,
}

impl Heat {
    /// The logit at the temperature. Never descends as `z` ascends.
    fn of(self, z: f64) -> f64 {
        below(self.max, z) / self.temperature
    }
}

/// Memory that sampling works in, kept from row to row so that a step allocates nothing.
///
/// Logits are indexed by token, and stages that edit tokens by id change them. The first stage that examines all tokens
/// also creates the set of remaining tokens; later edits are copied to this set.
///
/// A vocabulary has 100,000 tokens and more, and most chains soon keep few of them. Therefore a temperature before the
/// creation of the set is deferred, and `keep_first` gathers only tokens that can be among the first.
#[derive(Debug, Default)]
pub struct Workspace {
    logits: Vec<f64>,
    set: Vec<Candidate>,
    gathered: bool,
    stale: bool,
    sorted: bool,
    /// The deferred temperature of a set that has not been created. While it is deferred, `maxima` belong to the row.
    waiting: Option<Heat>,
    /// The largest logit of each part of the row, until there is a set; `found`: no edit came since.
    maxima: Vec<f64>,
    found: bool,
    /// Of one stage: marks or counts by token, match lengths by position.
    pub(super) counts: Vec<u32>,
    /// Of typical-p: distance to the entropy.
    pub(super) deviations: Vec<(f64, Candidate)>,
}

impl Workspace {
    /// No memory yet; it grows with the first row.
    pub fn new() -> Workspace {
        Workspace::default()
    }

    /// Reserves memory for rows of `tokens` tokens and sequences of `positions` positions, so that they need no
    /// allocation.
    ///
    /// # Errors
    /// The allocation fails.
    pub fn reserve(&mut self, tokens: usize, positions: usize) -> Result<(), NoMemory> {
        reserve(&mut self.logits, tokens)?;
        reserve(&mut self.set, tokens)?;
        reserve(&mut self.maxima, 2 * tokens.div_ceil(PART))?;
        reserve(&mut self.counts, tokens.max(positions))?;
        reserve(&mut self.deviations, tokens)
    }

    /// Begins a row.
    pub(super) fn load(&mut self, logits: &[f32]) -> Result<(), SampleError> {
        reserve(&mut self.logits, logits.len())?;
        reserve(&mut self.set, logits.len())?;
        reserve(&mut self.maxima, 2 * logits.len().div_ceil(PART))?;
        (self.gathered, self.stale, self.sorted, self.waiting) = (false, false, false, None);
        // One pass without an early exit, so that it is vectorised.
        let mut nan = false;
        for part in logits.chunks(PART) {
            self.logits.extend(part.iter().map(|&z| f64::from(z)));
            self.maxima.push(f64::from(largest(part, f32::NEG_INFINITY)));
            nan |= part.iter().fold(false, |found, z| found | z.is_nan());
        }
        self.found = true;
        if nan {
            return Err(SampleError::NanLogits);
        }
        self.require_tokens("logits")
    }

    /// The logits by token, for changes. Removed tokens have the logit -infinity.
    pub(super) fn edit(&mut self) -> &mut [f64] {
        self.heat();
        (self.stale, self.found) = (true, false);
        &mut self.logits
    }

    /// [`Workspace::edit`] together with zeros by token.
    pub(super) fn edit_with_counts(&mut self) -> Result<(&mut [f64], &mut [u32]), SampleError> {
        zeroed(&mut self.counts, self.logits.len())?;
        self.heat();
        (self.stale, self.found) = (true, false);
        Ok((&mut self.logits, &mut self.counts))
    }

    /// An error that names `stage` if no token is left.
    pub(super) fn require_tokens(&mut self, stage: &'static str) -> Result<(), SampleError> {
        let left =
            if self.gathered { !self.set().is_empty() } else { self.logits.iter().any(|&z| z > f64::NEG_INFINITY) };
        if left { Ok(()) } else { Err(SampleError::Empty { stage }) }
    }

    /// The tokens that are left, in no order that means anything.
    pub(super) fn set(&mut self) -> &mut Vec<Candidate> {
        self.heat();
        self.gather();
        &mut self.set
    }

    fn gather(&mut self) {
        if !self.gathered {
            self.set.clear();
            let all = (0..).zip(&self.logits).map(|(id, &z)| Candidate { z, id });
            self.set.extend(all.filter(|c| c.z > f64::NEG_INFINITY)); // room was made by `load`
        } else if self.stale {
            for c in &mut self.set {
                c.z = self.logits[c.id as usize];
            }
            self.set.retain(|c| c.z > f64::NEG_INFINITY);
        }
        self.sorted &= self.gathered && !self.stale;
        (self.gathered, self.stale) = (true, false);
    }

    /// The tokens that are left, in order.
    pub(super) fn sorted_set(&mut self) -> &mut Vec<Candidate> {
        self.set();
        if !self.sorted {
            self.set.sort_unstable_by(Candidate::order);
            self.sorted = true;
        }
        &mut self.set
    }

    /// Divides logits, relative to the largest, by a temperature; tokens that end at -infinity are removed.
    pub(super) fn divide(&mut self, temperature: f64) {
        let Some(max) = self.largest() else { return };
        let heat = Heat { max, temperature };
        if self.gathered {
            self.apply(heat);
        } else {
            self.waiting = Some(heat);
        }
    }

    /// Carries out the temperature that waits.
    fn heat(&mut self) {
        if let Some(heat) = self.waiting.take() {
            self.apply(heat);
        }
    }

    fn apply(&mut self, heat: Heat) {
        self.gather();
        for c in &mut self.set {
            c.z = heat.of(c.z);
            self.logits[c.id as usize] = c.z;
        }
        self.set.retain(|c| c.z > f64::NEG_INFINITY);
        // Rounding can make logits equal that were not, which leaves the wrong order of ids.
        self.sorted = false;
    }

    /// Keeps the first `k` tokens in the order.
    pub(super) fn keep_first(&mut self, k: usize) {
        if !self.gathered && (1..self.logits.len().div_ceil(PART)).contains(&k) {
            self.gather_first(k);
        }
        self.set();
        if k >= self.set.len() {
            return;
        }
        if k > 0 && !self.sorted {
            self.set.select_nth_unstable_by(k - 1, Candidate::order);
        }
        self.set.truncate(k);
    }

    /// A set of at least the first `k` tokens, of a row that has more parts. The `k`-th largest of the maxima is a bar:
    /// `k` tokens reach it, so what does not is not among the first.
    fn gather_first(&mut self, k: usize) {
        let heat = self.waiting.take();
        if heat.is_none() {
            self.find_maxima();
        }
        let heated = |z: f64| heat.map_or(z, |heat| heat.of(z));
        let parts = self.maxima.len();
        self.maxima.extend_from_within(..); // `load` has made the room
        let (maxima, sorted) = self.maxima.split_at_mut(parts);
        sorted.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        let bar = heated(sorted[k - 1]);
        self.set.clear();
        for (part, (logits, &max)) in self.logits.chunks_mut(PART).zip(&*maxima).enumerate() {
            if heated(max) < bar {
                continue;
            }
            for (id, z) in (part * PART..).zip(logits) {
                *z = heated(*z);
                if *z >= bar && *z > f64::NEG_INFINITY {
                    self.set.push(Candidate { z: *z, id: id as u32 });
                }
            }
        }
        (self.gathered, self.stale, self.sorted) = (true, false, false);
    }

    fn find_maxima(&mut self) {
        if !self.found {
            self.maxima.clear();
            self.maxima.extend(self.logits.chunks(PART).map(|part| largest(part, f64::NEG_INFINITY)));
            self.found = true;
        }
    }

    /// The largest logit that is left.
    pub(super) fn largest(&mut self) -> Option<f64> {
        self.heat();
        if self.gathered {
            return self.set().iter().map(|c| c.z).max_by(f64::total_cmp);
        }
        self.find_maxima();
        self.maxima.iter().copied().max_by(f64::total_cmp).filter(|z| *z > f64::NEG_INFINITY)
    }

    /// Says that the set was put in order.
    pub(super) fn ordered(&mut self) {
        self.sorted = true;
    }

    /// Says that the set was put into an order of another kind.
    pub(super) fn disordered(&mut self) {
        self.sorted = false;
    }

    /// The largest logit that is left, and its token.
    pub(super) fn best(&mut self) -> Option<Candidate> {
        self.set();
        if self.sorted { self.set.first().copied() } else { self.set.iter().copied().min_by(Candidate::order) }
    }
}

/// The largest of a part, or the `least` that there is. Lanes of their own, which vectors do.
fn largest<T: Copy + PartialOrd>(part: &[T], least: T) -> T {
    let (whole, rest) = part.as_chunks::<LANES>();
    let mut lanes = [least; LANES];
    for whole in whole {
        for (max, &z) in lanes.iter_mut().zip(whole) {
            *max = if z > *max { z } else { *max };
        }
    }
    lanes.iter().chain(rest).fold(least, |max, &z| if z > max { z } else { max })
}

/// Room for `n` elements in an emptied vector.
pub(super) fn reserve<T>(vec: &mut Vec<T>, n: usize) -> Result<(), NoMemory> {
    vec.clear();
    vec.try_reserve(n).map_err(|_| NoMemory { bytes: n.saturating_mul(size_of::<T>()) as u64 })
}

/// `n` zeros.
pub(super) fn zeroed(vec: &mut Vec<u32>, n: usize) -> Result<(), NoMemory> {
    reserve(vec, n)?;
    vec.resize(n, 0);
    Ok(())
}
