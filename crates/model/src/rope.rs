//! Rotary frequencies: the angle per position by which a pair is rotated. Every kind of scaling is a way to choose
//! them.

use crate::Error;
use crate::fields::{Fields, shorten};
use inkstone_tensor::math;
use std::f64::consts::PI;

/// The scaling of positions beyond the trained context.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scaling {
    /// No scaling.
    None,
    /// All frequencies are divided by `factor` (position interpolation, arXiv 2306.15595).
    Linear {
        /// The new context is the trained context times this factor.
        factor: f64,
    },
    /// Low frequencies are divided, high frequencies are kept, and frequencies in between are interpolated (YaRN, arXiv
    /// 2309.00071).
    Yarn {
        /// The new context is the original context times this factor.
        factor: f64,
        /// The context before scaling.
        original: f64,
        /// Pairs with more rotations than this within the original context keep their frequency.
        beta_fast: f64,
        /// The frequencies of pairs with fewer rotations than this are divided.
        beta_slow: f64,
        /// A factor of the magnitude.
        attention_factor: f64,
    },
}

/// The parameters of a rotary embedding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RopeConfig {
    /// The number of rotated dimensions of a head; even.
    pub dims: usize,
    /// Frequencies are `base^(-2i / dims)`.
    pub base: f64,
    /// The scaling of the frequencies.
    pub scaling: Scaling,
}

impl RopeConfig {
    /// Reads the `rope.*` keys of an architecture.
    pub(crate) fn read(f: &Fields, head_dim: usize) -> Result<RopeConfig, Error> {
        let dims = f.count("rope.dimension_count", 2..=head_dim as u64)?.unwrap_or(head_dim);
        if !dims.is_multiple_of(2) {
            return Err(f.bad("rope.dimension_count", dims, "an even number"));
        }
        let base = f.positive("rope.freq_base")?.unwrap_or(10_000.0);
        Ok(RopeConfig { dims, base, scaling: Scaling::read(f)? })
    }

    /// The angle of each pair in radians per position, and the factor of rotated values. `factors` divide the
    /// frequencies (Llama 3.1 stores them in a tensor of the file).
    pub fn frequencies(&self, factors: Option<&[f32]>) -> (Vec<f64>, f64) {
        let plain = |i: usize| math::pow(self.base, -2.0 * i as f64 / self.dims as f64);
        let by_file = |i: usize| factors.and_then(|f| f.get(i)).map_or(1.0, |f| f64::from(*f));
        let pairs = 0..self.dims / 2;
        match self.scaling {
            Scaling::None => (pairs.map(|i| plain(i) / by_file(i)).collect(), 1.0),
            Scaling::Linear { factor } => (pairs.map(|i| plain(i) / by_file(i) / factor).collect(), 1.0),
            Scaling::Yarn { factor, original, beta_fast, beta_slow, attention_factor } => {
                let (low, high) = self.ramp(original, beta_fast, beta_slow);
                let mixed = pairs.map(|i| {
                    let share = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
                    plain(i) / by_file(i) * (share / factor + (1.0 - share))
                });
                let magnitude = if factor > 1.0 { 0.1 * math::ln(factor) + 1.0 } else { 1.0 };
                (mixed.collect(), magnitude * attention_factor)
            }
        }
    }

    /// The pairs where the ramp of YaRN begins and ends, rounded outward to whole pairs as in the published code.
    fn ramp(&self, original: f64, beta_fast: f64, beta_slow: f64) -> (f64, f64) {
        let dims = self.dims as f64;
        let pair = |turns: f64| dims * math::ln(original / (turns * 2.0 * PI)) / (2.0 * math::ln(self.base));
        let low = pair(beta_fast).floor().max(0.0);
        let high = pair(beta_slow).ceil().min(dims - 1.0);
        (low, if high > low { high } else { low + 0.001 })
    }
}

impl Scaling {
    fn read(f: &Fields) -> Result<Scaling, Error> {
        const KEY: &str = "rope.scaling.type";
        let factor = match f.positive("rope.scaling.factor")? {
            Some(factor) => Some(factor),
            None => f.positive("rope.scale_linear")?, // its name before 2024
        };
        let kind = f.metadata.str(&f.key(KEY))?;
        match (kind.unwrap_or(if factor.is_some() { "linear" } else { "none" }), factor) {
            ("none", _) => Ok(Scaling::None),
            ("linear" | "yarn", None) => {
                Err(Error::MissingKey { key: f.key("rope.scaling.factor"), what: "the factor of the rope scaling" })
            }
            ("linear", Some(factor)) => Ok(Scaling::Linear { factor }),
            ("yarn", Some(factor)) => {
                // Files without this key have only the trained context.
                let original = match f.count("rope.scaling.original_context_length", 1..=1 << 31)? {
                    Some(original) => original as f64,
                    None => f.needed("context_length", 1..=1 << 31, "the trained context")? as f64,
                };
                let or = |name, default| Ok::<f64, Error>(f.positive(name)?.unwrap_or(default));
                Ok(Scaling::Yarn {
                    factor,
                    original,
                    beta_fast: or("rope.scaling.yarn_beta_fast", 32.0)?,
                    beta_slow: or("rope.scaling.yarn_beta_slow", 1.0)?,
                    attention_factor: or("rope.scaling.attn_factor", 1.0)?,
                })
            }
            (other, _) => Err(f.bad(KEY, shorten(other), "none, linear, yarn")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YARN: Scaling =
        Scaling::Yarn { factor: 4.0, original: 64.0, beta_fast: 8.0, beta_slow: 1.0, attention_factor: 1.0 };

    #[test]
    fn scaled_frequencies_are_those_of_the_formulas() {
        let rope = |scaling| RopeConfig { dims: 32, base: 10_000.0, scaling }.frequencies(None);
        let (plain, _) = rope(Scaling::None);
        assert_eq!((plain.len(), plain[0]), (16, 1.0));
        assert!((plain[8] - 0.01).abs() < 1e-15);
        let (linear, magnitude) = rope(Scaling::Linear { factor: 4.0 });
        assert_eq!((linear[3], magnitude), (plain[3] / 4.0, 1.0));
        // Corners: 32 ln(64 / 16 pi) / (2 ln 10000) = 0.42 -> 0, 32 ln(64 / 2 pi) / (2 ln 10000) = 4.03 -> 5.
        let (yarn, magnitude) = rope(YARN);
        assert_eq!((yarn[0], yarn[5], yarn[15]), (plain[0], plain[5] / 4.0, plain[15] / 4.0));
        assert!((yarn[2] - plain[2] * (0.4 / 4.0 + 0.6)).abs() < 1e-15);
        assert!((magnitude - 1.138_629_436_111_989).abs() < 1e-12);
    }

    #[test]
    fn factors_of_the_file_divide() {
        let rope = RopeConfig { dims: 4, base: 100.0, scaling: Scaling::None };
        assert_eq!(rope.frequencies(Some(&[1.0, 8.0])).0, [1.0, math::pow(100.0, -0.5) / 8.0]);
    }
}
