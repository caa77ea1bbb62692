//! Whether an engine chooses well: every kernel that takes a case is timed, and the chosen one must be about the
//! fastest.

use super::cases::{Case, Operand};
use super::single::{self, Asked};
use super::values::Random;
use super::{Stop, candidates};
use crate::engine::Engine;
use crate::kernel::{Kernel, Layout};
use inkstone_tensor::ops::{Attend, Expr, Linear, Map, RmsNorm, Term};
use inkstone_tensor::{DType, Dim, Op, Type};
use std::fmt;
use std::time::{Duration, Instant};

/// A chosen kernel may take so many times what the fastest takes.
pub const ALLOWED: f64 = 1.05;

/// How long each kernel is run, and how often at least.
const TIME: Duration = Duration::from_millis(40);
const RUNS: usize = 3;
/// A kernel that takes so many times what the chosen one takes is run no more: portable ones take long.
const HOPELESS: u32 = 4;

/// A kernel's time on a case.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Its name, with the layout of its weights.
    pub kernel: String,
    /// The shortest of its runs, including the time of a submit.
    pub time: Duration,
}

/// All kernels of one arithmetic on a case.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The op with its operands.
    pub case: String,
    /// The one that the engine chooses.
    pub chosen: Timing,
    /// The others.
    pub others: Vec<Timing>,
}

impl Choice {
    /// How many times the fastest kernel's time the chosen one takes: 1 if it is the fastest.
    pub fn slowdown(&self) -> f64 {
        let fastest = self.others.iter().map(|t| t.time).min().unwrap_or(self.chosen.time).min(self.chosen.time);
        self.chosen.time.as_secs_f64() / fastest.as_secs_f64().max(1e-9)
    }

    /// Whether that is within [`ALLOWED`].
    pub fn is_good(&self) -> bool {
        self.slowdown() <= ALLOWED
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let time = |t: &Timing| format!("{} {:.1} us", t.kernel, 1e6 * t.time.as_secs_f64());
        write!(f, "{}: {}", self.case, time(&self.chosen))?;
        self.others.iter().try_for_each(|t| write!(f, ", {}", time(t)))?;
        if self.is_good() { Ok(()) } else { write!(f, "; chosen is {:.2} x the fastest", self.slowdown()) }
    }
}

/// Times the kernels of an engine on shapes as models have them; `told` hears of each case.
///
/// # Errors
/// A kernel that fails, as a line.
pub fn run(engine: &dyn Engine, mut told: impl FnMut(&Choice)) -> Result<Vec<Choice>, String> {
    let mut choices = Vec::new();
    for case in cases() {
        if let Some(choice) = choice(engine, &case).map_err(|e| format!("{}: {e}", case.name()))? {
            told(&choice);
            choices.push(choice);
        }
    }
    Ok(choices)
}

/// `None` if the engine has no kernel.
fn choice(engine: &dyn Engine, case: &Case) -> Result<Option<Choice>, String> {
    let Some(bucket) = single::sizes(engine, case.rows) else { return Ok(None) };
    let weights: Vec<Type> =
        case.operands.iter().filter(|o| matches!(o, Operand::Weight(_))).map(Operand::ty).collect();
    let ins: Vec<Type> = case.operands.iter().map(Operand::ty).collect();
    let (found, _) = candidates(engine, &case.op, &ins, &weights, bucket.rows);
    // As a compiler chooses: the best layout that there is a kernel for, then the first kernel.
    let chosen = engine.registry().layouts.iter().find_map(|l| found.iter().find(|(_, layout)| layout == l));
    let Some(&(chosen, layout)) = chosen.or(found.first()) else { return Ok(None) };
    let matrices = weights.iter().any(|w| w.rows != Dim::N(1));
    let timing = |kernel: &Kernel, layout: Layout, limit: Duration| {
        let name = if matrices { format!("{} in {layout}", kernel.name) } else { kernel.name.to_owned() };
        let seed = Random::seed(&case.name());
        let time = time(&Asked { engine, case, kernel, layout, bucket, seed }, limit);
        time.map(|time| Timing { kernel: name, time })
    };
    let first = timing(chosen, layout, Duration::MAX).map_err(told)?;
    let limit = first.time * HOPELESS;
    let rest = found.iter().filter(|(k, l)| (k.name, *l) != (chosen.name, layout) && k.numerics == chosen.numerics);
    let others = rest.map(|(k, l)| timing(k, *l, limit).map_err(told)).collect::<Result<_, _>>()?;
    Ok(Some(Choice { case: case.name(), chosen: first, others }))
}

fn told(stop: Stop) -> String {
    match stop {
        Stop::Skipped(reason) | Stop::Failed(reason) => reason,
    }
}

/// The shortest of some runs, of one if that takes longer than `limit`; the first is not counted.
fn time(asked: &Asked, limit: Duration) -> Result<Duration, Stop> {
    let (mut rig, words) = asked.rig()?;
    rig.submit(&words)?;
    let (start, mut shortest, mut runs) = (Instant::now(), Duration::MAX, 0);
    while (runs < RUNS || start.elapsed() < TIME) && (runs == 0 || shortest <= limit) {
        let begun = Instant::now();
        rig.submit(&words)?;
        shortest = shortest.min(begun.elapsed());
        runs += 1;
    }
    Ok(shortest)
}

/// Rows of steps: one sequence, some, eight, a chunk of a prompt.
const ROWS: [usize; 4] = [1, 3, 8, 64];
/// Rows and columns of matrices, so large that tiles are shared out, small enough for caches.
const MATRIX: (usize, usize) = (1024, 2048);
/// Types of matrices.
const DTYPES: [DType; 10] = [
    DType::Q4_K,
    DType::Q5_K,
    DType::Q6_K,
    DType::Q8_0,
    DType::Q5_0,
    DType::Q4_0,
    DType::IQ4_NL,
    DType::F16,
    DType::BF16,
    DType::F32,
];

fn cases() -> Vec<Case> {
    let x = |cols| Operand::Values(Type::f32(Dim::Rows, cols));
    let weight = |dtype, rows, cols| Operand::Weight(Type::new(dtype, Dim::N(rows), cols));
    let mut cases = Vec::new();
    for rows in ROWS {
        let (n, k) = MATRIX;
        cases.extend(DTYPES.map(|dtype| Case::new(Linear, rows, &[x(k), weight(dtype, n, k)])));
        cases.push(Case::new(RmsNorm { eps: 1e-5 }, rows, &[x(k), weight(DType::F32, 1, k)]));
        let gate = Op::from(Map(Expr::new(&[Term::In(0), Term::Silu, Term::In(1), Term::Mul])));
        cases.push(Case::new(gate, rows, &[x(k), x(k)]));
        let cache = Operand::Values(Type::cache(0, DType::F16, 2, 64));
        let attend = Attend { heads: 8, kv_heads: 2, scale: 0.125, window: None };
        cases.push(Case::new(attend, rows.min(8), &[x(512), cache, cache, Operand::Rows(17)]));
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(times: &[u64]) -> Choice {
        let all: Vec<Timing> =
            times.iter().map(|t| Timing { kernel: format!("k{t}"), time: Duration::from_micros(*t) }).collect();
        Choice { case: "case".to_owned(), chosen: all[0].clone(), others: all[1..].to_vec() }
    }

    #[test]
    fn a_choice_that_takes_over_5_percent_more_than_the_best_is_bad() {
        assert!(choice(&[105, 100, 300]).is_good() && choice(&[100]).is_good() && choice(&[90, 100]).is_good());
        let bad = choice(&[106, 100]);
        assert!(!bad.is_good());
        assert_eq!(bad.to_string(), "case: k106 106.0 us, k100 100.0 us; chosen is 1.06 x the fastest");
    }

    #[test]
    fn the_reference_engine_has_one_kernel_for_each_case_and_so_chooses_well() {
        let engine = crate::Reference::new(&crate::EngineOptions::default().budget(1 << 30)).unwrap();
        let small = Case::new(
            RmsNorm { eps: 1e-5 },
            1,
            &[Operand::Values(Type::f32(Dim::Rows, 8)), Operand::Weight(Type::new(DType::F32, Dim::N(1), 8))],
        );
        let choice = super::choice(&engine, &small).unwrap().unwrap();
        assert!(choice.others.is_empty() && choice.is_good() && !choice.chosen.time.is_zero());
    }
}
