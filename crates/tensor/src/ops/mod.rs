//! One file per op.

mod accept;
mod advance;
mod attend;
mod begin_step;
mod columns;
mod embed;
mod gather_rows;
mod history_write;
mod kv_copy;
mod kv_write;
mod layer_norm;
mod linear;
mod map;
mod quantize;
mod rms_norm;
mod rope;
mod sample;
mod score;

pub use accept::Accept;
pub use advance::Advance;
pub use attend::{Attend, Window};
pub use begin_step::BeginStep;
pub use columns::Columns;
pub use embed::{By, Embed};
pub use gather_rows::GatherRows;
pub use history_write::{HISTORY, HistoryWrite};
pub use kv_copy::KvCopy;
pub use kv_write::KvWrite;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use map::{Expr, Map, Term};
pub use quantize::Quantize;
pub use rms_norm::RmsNorm;
pub use rope::{Pairs, Rope};
pub use sample::Sample;
pub use score::{SCORES, Score, TOP};

use crate::Array;
use crate::op::Arrays;

/// The one result of most ops.
fn one(result: Array) -> Arrays {
    Arrays::from_iter([result])
}

/// The sum of products in f64, in index order. It begins at +0, like the sums of [`dot4`]: `Iterator::sum` begins at
/// -0.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + f64::from(*a) * f64::from(*b))
}

/// Four such sums side by side: independent chains, so that the processor need not wait for each addition.
fn dot4(x: &[f32], w: [&[f32]; 4]) -> [f64; 4] {
    let n = x.len();
    let [a, b, c, d] = w.map(|w| &w[..n]);
    let mut sums = [0f64; 4];
    for i in 0..n {
        let x = f64::from(x[i]);
        sums[0] += x * f64::from(a[i]);
        sums[1] += x * f64::from(b[i]);
        sums[2] += x * f64::from(c[i]);
        sums[3] += x * f64::from(d[i]);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_one_by_one_and_side_by_side_have_the_same_bits() {
        for (x, w) in [([0.0, 0.0], [-1.0, -2.0]), ([-3.0, 1e-9], [1e20, 7.0]), ([1.5, 2.5], [-1.5, 0.5])] {
            let bits = dot(&x, &w).to_bits();
            assert_eq!(dot4(&x, [&w; 4]).map(f64::to_bits), [bits; 4], "{x:?} {w:?}");
        }
    }
}
