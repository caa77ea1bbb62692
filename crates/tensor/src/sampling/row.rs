//! The logits of a row on their way through a chain.

use super::SampleError;
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
        // The bits of a negative number ascend as it descends; those of others are turned round.
        let descending = bits ^ (!negative >> 1);
        u128::from(descending) << 32 | u128::from(self.id)
    }
}

/// Memory that sampling works in, kept from row to row so that a step allocates nothing.
///
/// Logits lie by token. Stages that edit tokens by their id work there; from the first stage on that looks at all
/// tokens there is also the set of those that are left, and what a later edit changes is copied into it.
#[derive(Debug, Default)]
pub struct Workspace {
    logits: Vec<f64>,
    set: Vec<Candidate>,
    gathered: bool,
    stale: bool,
    sorted: bool,
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

    /// Room for rows of so many tokens, and sequences of so many positions: what fits allocates nothing.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn reserve(&mut self, tokens: usize, positions: usize) -> Result<(), NoMemory> {
        reserve(&mut self.logits, tokens)?;
        reserve(&mut self.set, tokens)?;
        reserve(&mut self.counts, tokens.max(positions))?;
        reserve(&mut self.deviations, tokens)
    }

    /// Begins a row.
    pub(super) fn load(&mut self, logits: &[f32]) -> Result<(), SampleError> {
        reserve(&mut self.logits, logits.len())?;
        reserve(&mut self.set, logits.len())?;
        (self.gathered, self.stale, self.sorted) = (false, false, false);
        self.logits.extend(logits.iter().map(|&z| f64::from(z)));
        if logits.iter().any(|z| z.is_nan()) {
            return Err(SampleError::NanLogits);
        }
        self.require_tokens("logits")
    }

    /// The logits by token, to be changed. Removed tokens are those of -infinity.
    pub(super) fn edit(&mut self) -> &mut [f64] {
        self.stale = true;
        &mut self.logits
    }

    /// [`Workspace::edit`] together with zeros by token.
    pub(super) fn edit_with_counts(&mut self) -> Result<(&mut [f64], &mut [u32]), SampleError> {
        zeroed(&mut self.counts, self.logits.len())?;
        self.stale = true;
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
        &mut self.set
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

    /// Replaces each logit by a monotone function of it; tokens that it sends to -infinity are removed.
    pub(super) fn map(&mut self, f: impl Fn(f64) -> f64) {
        self.set();
        for c in &mut self.set {
            c.z = f(c.z);
            self.logits[c.id as usize] = c.z;
        }
        self.set.retain(|c| c.z > f64::NEG_INFINITY);
        // Rounding can make logits equal that were not, which leaves the wrong order of ids.
        self.sorted = false;
    }

    /// Keeps the first `k` tokens in the order.
    pub(super) fn keep_first(&mut self, k: usize) {
        self.set();
        if k >= self.set.len() {
            return;
        }
        if k > 0 && !self.sorted {
            self.set.select_nth_unstable_by(k - 1, Candidate::order);
        }
        self.set.truncate(k);
    }

    /// Says that the set was put into an order of another kind.
    pub(super) fn disordered(&mut self) {
        self.sorted = false;
    }

    /// The largest logit that is left, and its token.
    pub(super) fn best(&mut self) -> Option<Candidate> {
        self.set().iter().copied().min_by(Candidate::order)
    }
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
