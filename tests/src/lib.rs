//! Shared code of the checks across crates: it finds and reads golden data, and compares results.

mod clock;
pub mod described;
mod engines;
pub mod large;
mod npy;
mod oracle;
mod page;
mod subjects;
pub mod tiny;

pub use clock::busy_time;
pub use engines::{ahead, ahead_by, encoded, forbid_eval_if_asked, is_full, tries_few, with_block_sums, with_buckets};
pub use npy::read_npy;
pub use oracle::{assets, json, oracle, outside};
pub use page::page_holds;
pub use subjects::Subject;

/// Relative L2 distance of `a` from `b`: sqrt(sum (a - b)^2 / sum b^2).
///
/// # Panics
/// If the lengths differ.
pub fn relative_l2(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths differ");
    let square = |x: f64| x * x;
    let distance: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    (distance / b.iter().map(|b| square(f64::from(*b))).sum::<f64>()).sqrt()
}

/// The largest value's index, the lowest among equals.
pub fn arg_max(values: &[f32]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}

/// Nats of `token` under the softmax of `logits`, in f64.
pub fn nats(logits: &[f32], token: u32) -> f64 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|z| f64::from(z - max).exp()).sum();
    total.ln() - f64::from(logits[token as usize] - max)
}

/// Requires the same bits; the message names the first place that differs.
///
/// # Panics
/// If there is one.
pub fn assert_same_bits(a: &[f32], b: &[f32], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}: lengths");
    let differs = a.iter().zip(b).position(|(a, b)| a.to_bits() != b.to_bits());
    if let Some(i) = differs {
        panic!("{what}: value {i} is {} and {}", a[i], b[i]);
    }
}

/// Pages whose examples run with the tests of the documentation.
macro_rules! pages {
    ($($name:ident: $page:literal;)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../", $page))]
            mod $name {}
        )*
    };
}

pages! {
    extending: "docs/extending.md";
    compute: "crates/compute/README.md";
    engine_cpu: "crates/engine-cpu/README.md";
    engine_wgpu: "crates/engine-wgpu/README.md";
    shaders: "shaders/README.md";
    generate: "crates/generate/README.md";
    gguf: "crates/gguf/README.md";
    graph: "crates/graph/README.md";
    inkstone: "crates/inkstone/README.md";
    kvcache: "crates/kvcache/README.md";
    model: "crates/model/README.md";
    template: "crates/template/README.md";
    tensor: "crates/tensor/README.md";
    text: "crates/text/README.md";
}
