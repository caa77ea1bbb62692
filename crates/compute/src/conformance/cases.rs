//! Cases of one op: tables of shapes and dtypes, odd ones among them.

use inkstone_tensor::ops::{
    Attend, By, Columns, Embed, Expr, GatherRows, HISTORY, LayerNorm, Linear, Map, Pairs, Quantize, RmsNorm, Rope,
    Sample, Score, Term, Window,
};
use inkstone_tensor::sampling::{Chain, Stage, TokenBias};
use inkstone_tensor::step::{RECORDS, ROWS};
use inkstone_tensor::{DTYPES, DType, Dim, Op, Type};
use std::sync::Arc;

/// How an operand is filled.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    /// A weight of normal values.
    Weight(Type),
    /// Normal values.
    Values(Type),
    /// Tokens, positions and sequences of the step's rows; tokens below this.
    Rows(usize),
    /// Rows near the beginning of their sequences, also at positions below this number.
    EarlyRows(usize),
    /// Tokens of the logit rows, below this.
    Records(usize),
    /// The tokens of all places, below this.
    History(usize),
}

impl Operand {
    pub(super) fn ty(&self) -> Type {
        match *self {
            Operand::Weight(ty) | Operand::Values(ty) => ty,
            Operand::Rows(_) | Operand::EarlyRows(_) => ROWS,
            Operand::Records(_) => RECORDS,
            Operand::History(_) => HISTORY,
        }
    }
}

/// An op, its operands, and rows of the step.
pub(super) struct Case {
    pub(super) op: Op,
    pub(super) operands: Vec<Operand>,
    pub(super) rows: usize,
    /// How its sequences draw.
    pub(super) chain: Chain,
}

impl Case {
    pub(super) fn new(op: impl Into<Op>, rows: usize, operands: &[Operand]) -> Case {
        Case { op: op.into(), operands: operands.to_vec(), rows, chain: Chain::default() }
    }

    /// Op, types and rows; unique, so that a seed can be made of it.
    pub(super) fn name(&self) -> String {
        let types: Vec<String> = self.operands.iter().map(|o| o.ty().to_string()).collect();
        let chain = if let Op::Sample(_) = self.op { format!(", {}", self.chain) } else { String::new() };
        format!("{} on {}, {} rows{chain}", self.op, types.join(" "), self.rows)
    }
}

/// Rows of a step.
const ROWS_OF_STEPS: [usize; 4] = [1, 3, 8, 13];
/// Columns of activations: small, odd, whole and not whole blocks.
const COLS: [usize; 6] = [1, 5, 32, 64, 129, 512];
/// Rows and columns of weight matrices: around tiles of 16 and 32 rows; 1, 2, 3 and 8 superblocks.
const MATRICES: [(usize, usize); 11] =
    [(1, 1), (3, 5), (5, 32), (4, 64), (7, 96), (2, 129), (31, 256), (32, 160), (33, 512), (17, 768), (65, 2048)];
/// Dtypes of vectors.
const VECTORS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];
/// Tokens in a vocabulary.
const VOCABULARY: usize = 17;
/// Expressions: residual, gates, a sum of three, a constant factor.
const EXPRESSIONS: [&[Term]; 7] = [
    &[Term::In(0), Term::In(1), Term::Add],
    &[Term::In(0), Term::Silu, Term::In(1), Term::Mul],
    &[Term::In(0), Term::Gelu],
    &[Term::In(0), Term::Gelu, Term::In(1), Term::Mul],
    &[Term::In(0), Term::In(0), Term::Mul],
    &[Term::In(0), Term::In(1), Term::In(2), Term::Add, Term::Add],
    &[Term::In(0), Term::Constant(0.1), Term::Mul],
];
/// Heads side by side, values in a head.
const HEADS: [(usize, usize); 5] = [(3, 1), (2, 5), (4, 24), (2, 64), (3, 129)];
/// Columns, the first that is taken, how many.
const PARTS: [(usize, usize, usize); 6] =
    [(1, 0, 1), (6, 1, 3), (96, 32, 32), (192, 128, 64), (33, 0, 32), (771, 257, 514)];
/// Heads, values in a head, pairs that turn.
const ROPES: [(usize, usize, usize); 5] = [(1, 2, 1), (3, 6, 3), (2, 64, 32), (4, 10, 2), (1, 128, 64)];

/// Query heads, KV heads, values of a key and of a value.
const ATTENTIONS: [(usize, usize, usize, usize); 5] =
    [(1, 1, 5, 3), (4, 2, 24, 24), (3, 1, 64, 80), (2, 2, 16, 65), (8, 2, 32, 32)];
/// A window of each of them.
const WINDOWS: [(usize, usize); 5] = [(1, 0), (200, 3), (2048, 0), (65, 64), (3000, 1)];

/// The dtypes of weights.
fn decodable() -> impl Iterator<Item = DType> {
    DTYPES.iter().filter(|i| i.decode.is_some() && i.gguf.is_some()).map(|i| i.dtype)
}

fn encodable() -> impl Iterator<Item = DType> {
    DTYPES.iter().filter(|i| i.encode.is_some()).map(|i| i.dtype)
}

fn x(cols: usize) -> Operand {
    Operand::Values(Type::f32(Dim::Rows, cols))
}

fn weight(dtype: DType, rows: usize, cols: usize) -> Operand {
    Operand::Weight(Type::new(dtype, Dim::N(rows), cols))
}

/// All of them, in a fixed order.
pub(super) fn all() -> Vec<Case> {
    [
        norms(),
        head_norms(),
        layer_norms(),
        linears(),
        columns(),
        embeds(),
        ropes(),
        attends(),
        maps(),
        quantizes(),
        gathers(),
        scores(),
        samples(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn norms() -> Vec<Case> {
    let shapes = COLS.iter().flat_map(|c| VECTORS.map(|d| (*c, d)));
    let case = |(i, (cols, dtype)): (usize, (usize, DType))| {
        let op = RmsNorm { eps: [1e-5, 1e-6][i % 2] };
        Case::new(op, ROWS_OF_STEPS[i % 4], &[x(cols), weight(dtype, 1, cols)])
    };
    shapes.enumerate().map(case).collect()
}

fn head_norms() -> Vec<Case> {
    let shapes = HEADS.iter().flat_map(|h| VECTORS.map(|d| (*h, d)));
    let case = |(i, ((heads, dim), dtype)): (usize, ((usize, usize), DType))| {
        Case::new(RmsNorm { eps: 1e-5 }, ROWS_OF_STEPS[i % 4], &[x(heads * dim), weight(dtype, 1, dim)])
    };
    shapes.enumerate().map(case).collect()
}

fn layer_norms() -> Vec<Case> {
    let shapes = COLS.iter().flat_map(|c| VECTORS.map(|d| (*c, d)));
    let case = |(i, (cols, dtype)): (usize, (usize, DType))| {
        let op = LayerNorm { eps: [1e-5, 1e-6][i % 2] };
        Case::new(op, ROWS_OF_STEPS[i % 4], &[x(cols), weight(dtype, 1, cols), weight(DType::F32, 1, cols)])
    };
    shapes.enumerate().map(case).collect()
}

fn columns() -> Vec<Case> {
    let case = |(i, &(cols, first, count)): (usize, &(usize, usize, usize))| {
        Case::new(Columns { first, count }, ROWS_OF_STEPS[i % 4], &[x(cols)])
    };
    PARTS.iter().enumerate().map(case).collect()
}

fn linears() -> Vec<Case> {
    let mut cases = Vec::new();
    for dtype in decodable() {
        let fitting = MATRICES.iter().filter(|(_, k)| k.is_multiple_of(dtype.block()));
        for (i, (n, k)) in fitting.enumerate() {
            for (j, rows) in ROWS_OF_STEPS.into_iter().enumerate() {
                let mut operands = vec![x(*k), weight(dtype, *n, *k)];
                if (i + j) % 2 == 1 {
                    operands.push(weight(DType::F32, 1, *n));
                }
                cases.push(Case::new(Linear, rows, &operands));
            }
        }
    }
    cases
}

fn embeds() -> Vec<Case> {
    let case = |by, dtype, rows, cols| {
        let operand = match by {
            By::Token => Operand::Rows(VOCABULARY),
            By::Position => Operand::EarlyRows(VOCABULARY),
        };
        Case::new(Embed { by }, rows, &[operand, weight(dtype, VOCABULARY, cols)])
    };
    let odd = VECTORS.iter().flat_map(|d| [case(By::Token, *d, 3, 7), case(By::Position, *d, 13, 7)]);
    decodable().flat_map(|d| [case(By::Token, d, 5, 256), case(By::Position, d, 8, 256)]).chain(odd).collect()
}

fn ropes() -> Vec<Case> {
    let kinds = ROPES.into_iter().flat_map(|r| [Pairs::Neighbours, Pairs::Halves].map(|p| (r, p)));
    let case = |(i, ((heads, head_dim, turning), pairs)): (usize, ((usize, usize, usize), Pairs))| {
        // 10000^(-i / pairs) without a power: the same numbers on every machine.
        let ratio = [0.5, 0.75, 0.9][i % 3];
        let frequencies = (0..turning).scan(1.0, |f, _| Some(std::mem::replace(f, *f * ratio))).collect::<Arc<[f64]>>();
        let rope = Rope { head_dim, frequencies, magnitude: [1.0, 1.25][i % 2], pairs };
        Case::new(rope, ROWS_OF_STEPS[i % 4], &[x(heads * head_dim), Operand::Rows(VOCABULARY)])
    };
    kinds.enumerate().map(case).collect()
}

/// Caches of random values, at late positions of their sequences: across the boundaries of blocks and of segments.
/// Heads are stored separately, or all key heads in one row.
fn attends() -> Vec<Case> {
    let fits = |cols: usize, d: &DType| cols.is_multiple_of(d.block()) && !matches!(d, DType::Q8_A | DType::Q8_B);
    let mut cases = Vec::new();
    for (i, (heads, kv_heads, key, value)) in ATTENTIONS.into_iter().enumerate() {
        let mut case = |keys, values, window| {
            let attend = Attend { heads, kv_heads, scale: 1.0 / (key as f64).sqrt(), window };
            let caches = [keys, values].map(Operand::Values);
            let operands = [x(heads * key), caches[0], caches[1], Operand::Rows(VOCABULARY)];
            cases.push(Case::new(attend, ROWS_OF_STEPS[i % 4], &operands));
        };
        for dtype in encodable().filter(|d| fits(kv_heads * key, d) && fits(kv_heads * value, d)) {
            let [apart, values] = [key, value].map(|dim| Type::cache(i % 2, dtype, kv_heads, dim));
            let one = Type::new(dtype, Dim::Slots { group: i % 2, heads: 1 }, kv_heads * key).state();
            for keys in std::iter::once(apart).chain((one != apart).then_some(one)) {
                case(keys, values, None);
            }
            if [DType::F32, DType::F16].contains(&dtype) {
                let (size, first) = WINDOWS[i];
                case(apart, values, Some(Window { size, first }));
            }
        }
    }
    cases
}

fn maps() -> Vec<Case> {
    let case = |terms: &[Term], i: usize, cols: usize| {
        let expr = Expr::new(terms);
        let operands = vec![x(cols); expr.inputs()];
        Case::new(Map(expr), ROWS_OF_STEPS[i % 4], &operands)
    };
    EXPRESSIONS.iter().flat_map(|e| COLS.iter().enumerate().map(move |(i, c)| case(e, i, *c))).collect()
}

fn quantizes() -> Vec<Case> {
    let shapes = encodable().flat_map(|d| COLS.map(|c| (d, c))).filter(|(d, c)| c.is_multiple_of(d.block()));
    shapes.enumerate().map(|(i, (to, c))| Case::new(Quantize { to }, ROWS_OF_STEPS[i % 4], &[x(c)])).collect()
}

fn gathers() -> Vec<Case> {
    let shapes = COLS.iter().zip(ROWS_OF_STEPS.iter().cycle());
    shapes.map(|(cols, rows)| Case::new(GatherRows, *rows, &[x(*cols)])).collect()
}

fn scores() -> Vec<Case> {
    let logits = |n| Operand::Values(Type::f32(Dim::LogitRows, n));
    let sizes = [1, 5, 20, 21, 300].into_iter().zip(ROWS_OF_STEPS.into_iter().cycle());
    sizes.map(|(n, rows)| Case::new(Score, rows, &[logits(n), Operand::Records(n)])).collect()
}

/// Chains of every stage, and one that leaves nothing.
fn samples() -> Vec<Case> {
    const TOKENS: usize = 40;
    let chains = [
        vec![],
        vec![Stage::Temperature(0.0)],
        vec![Stage::Temperature(0.7), Stage::TopK(5)],
        vec![Stage::TopP(0.8), Stage::MinP(0.02), Stage::TypicalP(0.9)],
        vec![Stage::Repetition { penalty: 1.5, last_n: Some(64) }, Stage::Frequency(0.01), Stage::Presence(0.5)],
        vec![Stage::NoRepeatNgram(2), Stage::Temperature(1.3)],
        vec![Stage::Bias(vec![TokenBias { token: 3, bias: 9.0 }]), Stage::MinTokens { tokens: 10_000, ids: vec![1] }],
        vec![Stage::Ban((0..TOKENS as u32).collect())],
    ];
    let logits = Operand::Values(Type::f32(Dim::LogitRows, TOKENS));
    let operands = [logits, Operand::Rows(TOKENS), Operand::History(TOKENS)];
    let case = |(i, stages)| {
        let rows = ROWS_OF_STEPS[i % 4];
        Case { chain: Chain::in_order(stages), ..Case::new(Sample, rows, &operands) }
    };
    chains.into_iter().enumerate().map(case).collect()
}
