//! Plans that are wrong in one place, made of good ones of the engine's own kernels: `prepare` must refuse each of them,
//! because any caller can build a plan.

use super::plan::PlanBuilder;
use super::rig::{MadeWeights, Rig};
use super::scenes::Composer;
use super::{CaseResult, Outcome, Stop, bucket};
use crate::engine::{Bindings, Engine, Exec, Usage};
use crate::plan::{Plan, Port, Region, Step};
use inkstone_tensor::ops::{Expr, Map, Term};
use inkstone_tensor::{DType, Dim, Sizes, Type};
use std::sync::Arc;

const NAME: &str = "plans that are refused";
const TYPE: Type = Type::f32(Dim::Rows, 64);

/// A change that makes a plan wrong.
type ChangePlan = fn(&mut Plan);
/// A change that makes the buffers of a plan wrong.
type ChangeBindings = fn(&dyn Engine, &mut Bindings) -> crate::Result<()>;

/// The faults of a plan: what is wrong, and the change that makes it so.
const PLANS: &[(&str, ChangePlan)] = &[
    ("a result behind the arena", |p| arena(&mut p.steps[0], |offset| *offset += 1 << 20)),
    ("a result whose end can't be addressed", |p| arena(&mut p.steps[0], |offset| *offset = (1 << 63) - 64)),
    ("an arena of 0 bytes", |p| p.arena_bytes = 0),
    ("a port that begins at byte 64", |p| p.steps[0].args[0].offset = 64),
    ("an operand that is read before it is written", |p| p.steps.swap(0, 1)),
    ("results of another dtype", |p| result(&mut p.steps[0], |ty| ty.dtype = DType::F16)),
    ("results of other columns", |p| result(&mut p.steps[0], |ty| ty.cols /= 2)),
    ("an operand too few", |p| {
        p.steps[1].args.remove(1);
    }),
    ("a grid of 0 columns per tile", |p| p.steps[0].grid.col_block = 0),
    ("a grid of 0 rows per tile", |p| p.steps[0].grid.row_block = 0),
    ("blocks of columns that no result has", |p| {
        p.steps[0].grid.col_block = TYPE.cols / 2;
        p.steps[0].grid.col_blocks = 3;
    }),
    ("a weight that is not loaded", |p| p.steps[0].args[0].region = Region::Weight(0)),
    ("a state that is not bound", |p| p.steps[0].args[0].region = Region::State(0)),
    ("a port that is not bound", |p| p.steps[0].args[0].region = Region::Port(Port::SCORES)),
];

/// The faults of the buffers of a plan.
const BINDINGS: &[(&str, ChangeBindings)] = &[
    ("an arena that is too small", |engine, bind| {
        bind.arena = engine.alloc(64, Usage::Arena)?;
        Ok(())
    }),
    ("a port that is too small", |engine, bind| {
        let small = engine.alloc(64, Usage::Port)?;
        bind.ports = bind
            .ports
            .iter()
            .map(|(port, _)| (*port, small.clone()))
            .take(1)
            .chain(bind.ports.iter().skip(1).cloned())
            .collect();
        Ok(())
    }),
    ("one buffer for two ports", |_, bind| {
        let shared = bind.ports[0].1.clone();
        bind.ports = bind.ports.iter().map(|(port, _)| (*port, shared.clone())).collect();
        Ok(())
    }),
    ("one buffer for a port and the arena", |_, bind| {
        bind.arena = bind.ports[0].1.clone();
        Ok(())
    }),
    ("one buffer for a port and the step", |_, bind| {
        bind.step = bind.ports[0].1.clone();
        Ok(())
    }),
];

fn arena(step: &mut Step, change: impl Fn(&mut u64)) {
    step.args.iter_mut().filter(|a| a.region == Region::Arena).for_each(|a| change(&mut a.offset));
}

fn result(step: &mut Step, change: impl Fn(&mut Type)) {
    step.args.iter_mut().filter(|a| a.write).for_each(|a| change(&mut a.ty));
}

pub(super) fn run(engine: &dyn Engine) -> CaseResult {
    let mut kernels = Vec::new();
    let outcome = refuses(engine, &mut kernels).err().map_or(Outcome::Passed, Stop::outcome);
    CaseResult { case: NAME.to_owned(), kernels: kernels.join(", "), seed: 0, host: 0, outcome }
}

fn refuses(engine: &dyn Engine, kernels: &mut Vec<String>) -> Result<(), Stop> {
    let Some(rows) = bucket(&engine.caps().rows, 8) else {
        return Err(Stop::Skipped("no bucket for 8 rows".to_owned()));
    };
    let sizes = Sizes { rows, ..Sizes::default() };
    let plan = PlanBuilder::new("sums", sizes);
    let mut c = Composer {
        engine,
        plan,
        weights: MadeWeights::default(),
        definition: Default::default(),
        bucket: sizes,
        tolerance: 0.0,
        kernels,
    };
    let [x, out] = [Port::HIDDEN, Port::LOGITS].map(|port| c.plan.port(port, TYPE));
    let sum = Map(Expr::new(&[Term::In(0), Term::In(1), Term::Add]));
    let y = c.step(sum.clone(), &[x, x], &[])?;
    c.step(sum, &[y, x], &[out])?;
    let plan = c.plan.finish();
    let good = Rig::new(engine, &Arc::new(plan.clone()), &c.weights)?;
    let exec = engine.caps().exec.first().copied().unwrap_or(Exec::Steps);
    let mut taken = Vec::new();
    let mut refused = |what: &'static str, plan: Plan, bind: Bindings| {
        taken.extend(engine.prepare(Arc::new(plan), bind, exec).is_ok().then_some(what));
    };
    for (what, change) in PLANS {
        let mut plan = plan.clone();
        change(&mut plan);
        refused(what, plan, good.bind.clone());
    }
    for (what, change) in BINDINGS {
        let mut bind = good.bind.clone();
        change(engine, &mut bind)?;
        refused(what, plan.clone(), bind);
    }
    if taken.is_empty() { Ok(()) } else { Err(Stop::Failed(format!("taken: {}", taken.join(", ")))) }
}
