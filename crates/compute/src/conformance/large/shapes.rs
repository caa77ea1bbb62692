//! The ops and regions of a model, with its shapes.

use super::super::cases::{Case, Operand};
use super::super::regions::{self, ADD, Cols, GATE};
use super::Scale;
use inkstone_tensor::ops::{
    Attend, By, Columns, Embed, Expr, GatherRows, HistoryWrite, KvWrite, LayerNorm, Linear, Map, Pairs, Quantize,
    RmsNorm, Rope, Sample, Term,
};
use inkstone_tensor::sampling::{Chain, Stage};
use inkstone_tensor::{DType, Dim, Type};
use std::sync::Arc;

/// Rows of tables of embeddings, and tokens of histories.
pub(super) const TOKENS: usize = 8192;

/// Makes a case for a number of rows.
pub(super) type Make = Box<dyn Fn(usize, Cols) -> Option<Case>>;

/// A case for any number of rows and for sampled columns.
pub(super) struct Large {
    pub(super) format: Option<DType>,
    pub(super) make: Make,
}

pub(super) fn case(format: Option<DType>, make: impl Fn(usize, Cols) -> Option<Case> + 'static) -> Large {
    Large { format, make: Box::new(make) }
}

pub(super) fn values(cols: usize) -> Operand {
    Operand::Values(Type::f32(Dim::Rows, cols))
}

pub(super) fn weight(dtype: DType, rows: usize, cols: usize) -> Operand {
    Operand::Weight(Type::new(dtype, Dim::N(rows), cols))
}

/// The cases that read matrices of a format.
pub(super) fn of_format(scale: &Scale, format: DType) -> Vec<Large> {
    let width = scale.width;
    let to = (format.block() > 1).then_some(DType::Q8_A);
    let linear =
        move |rows, cols: Cols| Case::new(Linear, rows, &[values(cols.x), weight(format, cols.outs[0], cols.x)]);
    let embed =
        move |rows| Case::new(Embed { by: By::Token }, rows, &[Operand::Rows(TOKENS), weight(format, TOKENS, width)]);
    let format = Some(format);
    vec![
        case(format, move |rows, cols| Some(linear(rows, cols))),
        case(format, move |rows, cols| Some(regions::norm_glu(rows, format?, to, true, cols))),
        case(format, move |rows, cols| Some(regions::linear_map(rows, format?, to, false, cols))),
        case(format, move |rows, cols| Some(regions::norm_linear(rows, format?, to, cols))),
        case(format, move |rows, cols| Some(regions::glu(rows, format?, to, true, cols))),
        case(format, move |rows, cols| Some(regions::norm_linear_map(rows, format?, to, cols))),
        case(format, move |rows, _| Some(embed(rows))),
    ]
}

/// All other cases.
pub(super) fn others(scale: &Scale) -> Vec<Large> {
    let Scale { width, vocabulary, heads: [heads, kv_heads, dim], .. } = *scale;
    let few = |rows: usize| rows <= 8;
    let mut all = Vec::new();
    for format in [DType::F16, DType::Q8_0] {
        let cache = move || Operand::Values(Type::cache(0, format, kv_heads, dim));
        all.push(case(Some(format), move |rows, _| {
            let attend = Attend { heads, kv_heads, scale: 0.125, window: None };
            Some(Case::new(attend, rows, &[values(heads * dim), cache(), cache(), Operand::Rows(TOKENS)]))
        }));
        for norms in [false, true] {
            all.push(case(Some(format), move |rows, _| {
                Some(regions::attend_of(rows, format, norms, [heads, kv_heads, dim], None))
            }));
        }
        all.push(case(Some(format), move |rows, _| {
            Some(Case::new(KvWrite, rows, &[cache(), values(kv_heads * dim), Operand::Rows(TOKENS)]))
        }));
    }
    let frequencies: Arc<[f64]> = (0..dim / 2).map(|i| 0.9f64.powi(i as i32)).collect();
    let rope = Rope { head_dim: dim, frequencies, magnitude: 1.0, pairs: Pairs::Halves };
    let norm = move || weight(DType::F32, 1, width);
    all.extend([
        case(None, move |rows, cols| Some(regions::norm_quantize(rows, Cols { x: width, ..cols }))),
        case(None, move |rows, _| Some(Case::new(RmsNorm { eps: 1e-5 }, rows, &[values(width), norm()]))),
        case(None, move |rows, _| Some(Case::new(LayerNorm { eps: 1e-5 }, rows, &[values(width), norm(), norm()]))),
        case(None, move |rows, _| Some(Case::new(rope.clone(), rows, &[values(heads * dim), Operand::Rows(TOKENS)]))),
        case(None, move |rows, _| Some(Case::new(map(&GATE), rows, &[values(width), values(width)]))),
        case(None, move |rows, _| Some(Case::new(map(&ADD), rows, &[values(width), values(width)]))),
        case(None, move |rows, _| Some(Case::new(Quantize { to: DType::Q8_A }, rows, &[values(width)]))),
        case(None, move |rows, _| few(rows).then(|| Case::new(GatherRows, rows, &[values(width)]))),
        case(None, move |rows, _| Some(Case::new(Columns { first: 0, count: width / 2 }, rows, &[values(width)]))),
        case(None, |rows, _| Some(Case::new(HistoryWrite, rows, &[Operand::History(TOKENS), Operand::Rows(TOKENS)]))),
        case(None, move |rows, _| {
            let logits = Operand::Values(Type::f32(Dim::LogitRows, vocabulary));
            let operands = [logits, Operand::Rows(TOKENS), Operand::History(TOKENS)];
            let chain = vec![Stage::TopK(40), Stage::TopP(0.9), Stage::Temperature(0.8)];
            few(rows).then(|| Case { chain: Chain::in_order(chain.clone()), ..Case::new(Sample, rows, &operands) })
        }),
    ]);
    all
}

pub(super) fn map(terms: &[Term]) -> Map {
    Map(Expr::new(terms))
}
