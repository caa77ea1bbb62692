//! Groups the steps of a plan by layer, and shows equal layers once.

use inkstone::ExplainedStep;

/// Consecutive steps of one layer, or of no layer.
pub(super) struct Block<'a> {
    /// Index of the layer.
    pub(super) layer: Option<usize>,
    /// The steps in order.
    pub(super) steps: &'a [ExplainedStep],
}

/// A part of the output for a plan.
pub(super) enum Shown<'a> {
    /// The steps of a block.
    Steps(Block<'a>),
    /// A range of layers that are equal to an earlier layer: the first, the last, and the earlier one.
    Alike(usize, usize, usize),
}

/// The blocks of a plan. With `fold`, layers that are equal to an earlier one refer to its number.
pub(super) fn shown(steps: &[ExplainedStep], fold: bool) -> Vec<Shown<'_>> {
    let mut shown: Vec<Shown> = Vec::new();
    for steps in steps.chunk_by(|a, b| a.layer == b.layer) {
        let layer = steps[0].layer;
        let same = |s: &Shown| match s {
            Shown::Steps(Block { layer: Some(l), steps: other }) if alike(other, steps) => Some(*l),
            _ => None,
        };
        let model = if fold { shown.iter().find_map(same) } else { None };
        match (layer, model, shown.last_mut()) {
            (Some(layer), Some(model), Some(Shown::Alike(_, last, of))) if *of == model => *last = layer,
            (Some(layer), Some(model), _) => shown.push(Shown::Alike(layer, layer, model)),
            _ => shown.push(Shown::Steps(Block { layer, steps })),
        }
    }
    shown
}

/// Whether two layers are equal except for their weights.
fn alike(a: &[ExplainedStep], b: &[ExplainedStep]) -> bool {
    let weights =
        |s: &ExplainedStep| s.weights.iter().map(|w| (short(&w.name).to_owned(), w.dtype, w.layout)).collect();
    let key = |s: &ExplainedStep| -> (Vec<_>, ExplainedStep) {
        let mut rest = s.clone();
        (rest.layer, rest.weights) = (None, Vec::new());
        (weights(s), rest)
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| key(a) == key(b))
}

/// The name of a weight without its layer and its suffix: `attn_q` for `blk.3.attn_q.weight`.
pub(super) fn short(name: &str) -> &str {
    let name = name.strip_suffix(".weight").unwrap_or(name);
    let mut parts = name.splitn(3, '.');
    match (parts.next(), parts.next(), parts.next()) {
        (_, Some(layer), Some(rest)) if layer.parse::<usize>().is_ok() => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_layers_that_run_alike_are_folded() {
        let step = |layer, kernel: &str| {
            let mut step = ExplainedStep::default();
            (step.layer, step.kernel) = (layer, kernel.to_owned());
            step
        };
        let layers = ["a", "a", "a", "b", "a", "b", "b"].into_iter().enumerate();
        let mut steps = vec![step(None, "a")];
        steps.extend(layers.flat_map(|(i, kernel)| [step(Some(i), kernel), step(Some(i), "c")]));
        steps.push(step(None, "a"));
        let described = |fold| {
            let one = |s: &Shown| match s {
                Shown::Alike(first, last, of) => format!("{first}-{last} as {of}"),
                Shown::Steps(Block { layer: Some(layer), steps }) => format!("{layer}: {}", steps.len()),
                Shown::Steps(Block { layer: None, .. }) => "none".to_owned(),
            };
            shown(&steps, fold).iter().map(one).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(described(true), "none, 0: 2, 1-2 as 0, 3: 2, 4-4 as 0, 5-6 as 3, none");
        assert_eq!(described(false), "none, 0: 2, 1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, none");
    }

    #[test]
    fn names_are_shortened_to_what_differs_within_a_layer() {
        for (name, wanted) in [
            ("blk.3.attn_q.weight", "attn_q"),
            ("blk.3.attn_q.bias", "attn_q.bias"),
            ("output_norm.weight", "output_norm"),
            ("token_embd.weight", "token_embd"),
            ("a.b.c", "a.b.c"),
            ("", ""),
        ] {
            assert_eq!(short(name), wanted);
        }
    }
}
