//! The encoding of positions.

use crate::fields::Fields;
use crate::{Config, Error, RopeConfig};
use inkstone_tensor::ops::{Pairs, Rope};
use inkstone_tensor::{DType, WeightSource};

/// The tensor with a row for each position.
pub(crate) const TABLE: &str = "position_embd.weight";
/// Llama 3.1's scaling: factors that divide the frequencies.
const FACTORS: &str = "rope_freqs.weight";

/// The encoding of positions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Positions {
    /// Queries and keys are rotated (arXiv 2104.09864).
    Rotary(RopeConfig),
    /// A table has one row per position, and its length limits the context.
    Learned {
        /// Rows of the table: the longest context.
        rows: usize,
    },
}

impl Positions {
    /// The longest supported context, if it is limited.
    pub fn limit(&self) -> Option<usize> {
        match self {
            Positions::Rotary(_) => None,
            Positions::Learned { rows } => Some(*rows),
        }
    }

    pub(crate) fn rotary(f: &Fields, _source: &dyn WeightSource, head_dim: usize) -> Result<Positions, Error> {
        if !head_dim.is_multiple_of(2) {
            return Err(f.bad("attention.key_length", head_dim, "an even number, because pairs rotate"));
        }
        Ok(Positions::Rotary(RopeConfig::read(f, head_dim)?))
    }

    /// Learned positions: as many as the table has rows, or the context in the file if the table is missing (an error
    /// that tracing reports).
    pub(crate) fn learned(f: &Fields, source: &dyn WeightSource, _head_dim: usize) -> Result<Positions, Error> {
        let rows =
            source.info(TABLE).and_then(|i| usize::try_from(*i.dims.get(1).unwrap_or(&1)).ok()).filter(|n| *n > 0);
        let said = f.count("context_length", 1..=1 << 31)?;
        Ok(Positions::Learned { rows: rows.or(said).unwrap_or(1) })
    }
}

/// The op that rotates queries and keys. `pairs` describes how the architecture stores their rows. The scaling of Llama
/// 3.1 is a tensor of factors.
pub(crate) fn rope(c: &Config, source: &dyn WeightSource, pairs: Pairs) -> Result<Rope, Error> {
    let Positions::Rotary(rope) = c.positions else {
        // No value is rotated.
        return Ok(Rope { head_dim: c.head_dim, frequencies: [].into(), magnitude: 1.0, pairs });
    };
    let turning = rope.dims / 2;
    let factors = match source.info(FACTORS) {
        None if !source.has(FACTORS) => None,
        None => Some(crate::weight_f32(source, FACTORS)?), // its error names the unknown type
        Some(info) if info.dtype == DType::F32 && info.dims == [turning as u64] => {
            Some(crate::weight_f32(source, FACTORS)?)
        }
        Some(info) => {
            let (tensor, found) = (FACTORS.to_owned(), format!("{} {:?}", info.dtype, info.dims));
            return Err(Error::Factors { tensor, found, pairs: turning });
        }
    };
    if let Some(factor) = factors.iter().flatten().find(|f| !(f.is_finite() && **f > 0.0)) {
        return Err(Error::Factors {
            tensor: FACTORS.to_owned(),
            found: format!("a factor of {factor}"),
            pairs: turning,
        });
    }
    turns(c, "rope.freq_base", &rope, factors.as_deref(), pairs)
}

/// The op that rotates queries and keys in layers with a window.
pub(crate) fn window_rope(c: &Config, pairs: Pairs) -> Result<Rope, Error> {
    let Some(rope) = &c.window_rope else {
        return Ok(Rope { head_dim: c.head_dim, frequencies: [].into(), magnitude: 1.0, pairs });
    };
    turns(c, "rope.freq_base_swa", rope, None, pairs)
}

/// The op of a rotation, whose base has the key `name`.
fn turns(c: &Config, name: &str, rope: &RopeConfig, factors: Option<&[f32]>, pairs: Pairs) -> Result<Rope, Error> {
    let (frequencies, magnitude) = rope.frequencies(factors);
    if !frequencies.iter().all(|f| f.is_finite()) || !magnitude.is_finite() {
        let (key, value) = (format!("{}.{name}", c.arch), rope.base.to_string());
        return Err(Error::BadValue { key, value, allowed: "a base with finite frequencies under the scaling".into() });
    }
    Ok(Rope { head_dim: c.head_dim, frequencies: frequencies.into(), magnitude, pairs })
}
