//! Checks on every engine, and engines that only checks have.

use inkstone::compute::conformance::Delayed;
use inkstone::compute::{Caps, Engine, EngineOptions, Kernel, Pattern, Reference, ReferenceKernel};
use inkstone::tensor::DType;
use inkstone_engine_cpu::{Cpu, Q8, Set};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Registers an engine that computes with the definitions, except that the activations of products are encoded as in
/// the CPU engine. The remaining difference is the order of sums in single precision. Returns its name.
pub fn encoded() -> &'static str {
    let factory = |options: &EngineOptions| {
        let eval: ReferenceKernel = |op, step, ins| op.eval(step, ins);
        let kernel = Kernel::by_definition("linear.q8", Pattern::Named("linear"), Arc::new(eval));
        let kernel = Kernel { activations: Some(DType::Q8_A), numerics: Q8, ..kernel };
        Ok(Arc::new(Reference::new(&options.clone().with_kernel(kernel))?) as _)
    };
    inkstone::engines::register("encoded", Arc::new(factory));
    "encoded"
}

/// An instruction set of this machine whose `--numerics fast` has sums of whole blocks.
pub fn with_block_sums() -> &'static str {
    let set = Set::ALL.into_iter().find(|set| set.is_here() && set.has_block_sums());
    set.expect("plain Rust has them").name()
}

/// An engine that is asked for plans of other buckets than its own.
struct Buckets {
    inner: Cpu,
    caps: Caps,
}

impl Engine for Buckets {
    inkstone::compute::pass_on! { inner: registry alloc alloc_all weight_bytes warm load prepare queue draws gauge }

    fn caps(&self) -> &Caps {
        &self.caps
    }
}

/// Makes the CPU engine known with these buckets of rows and of logit rows; the last of each is the most that a step
/// may have. Returns its name.
pub fn with_buckets(rows: &[usize], logit_rows: &[usize]) -> String {
    let name = format!("cpu {rows:?} {logit_rows:?}");
    let (rows, logit_rows) = (rows.to_vec(), logit_rows.to_vec());
    let factory = move |options: &EngineOptions| {
        let inner = Cpu::new(options)?;
        let mut caps = inner.caps().clone();
        (caps.rows, caps.logit_rows) = (rows.clone(), logit_rows.clone());
        Ok(Arc::new(Buckets { inner, caps }) as _)
    };
    inkstone::engines::register(name.as_str(), Arc::new(factory));
    name
}

/// Registers the CPU engine behind an engine that holds its work back, with three steps under way. Returns its name.
pub fn ahead() -> &'static str {
    register_ahead("ahead", 3);
    "ahead"
}

/// The same with so many steps under way.
pub fn ahead_by(steps: usize) -> String {
    let name = format!("ahead by {steps}");
    register_ahead(&name, steps);
    name
}

fn register_ahead(name: &str, steps: usize) {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let factory = move |options: &EngineOptions| {
        let seed = SEED.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Delayed::new(Arc::new(Cpu::new(options)?), steps, seed)) as _)
    };
    inkstone::engines::register(name, Arc::new(factory));
}

/// Whether tests run in their long form: `cargo xtask test --full`.
pub fn is_full() -> bool {
    std::env::var_os("INKSTONE_FULL").is_some()
}

/// Whether claims try fewer cases on an engine: a step takes long on drivers that compute on the CPU. The long form tries all.
pub fn tries_few(engine: &str) -> bool {
    engine == "wgpu" && !is_full()
}

/// Makes definitions panic if `cargo xtask test no-eval` runs the test: it runs the tests of the CPU engine, which must
/// not call them.
pub fn forbid_eval_if_asked() {
    if std::env::var_os("INKSTONE_NO_EVAL").is_some() {
        inkstone::tensor::forbid_eval();
    }
}

/// Makes a test of each claim on each engine of this build, in a module that is named after the engine. A claim is a
/// function of that name in the same file, which takes the engine's name. The tests of the engine for GPUs are ignored where no
/// driver is set up (`cargo xtask test wgpu`). Behind `; cpu:` stand those that would take
/// long by definitions. With `ahead:` in front, the claims also hold with several steps under way ([`ahead`]), except
/// for those behind `; not ahead:`.
#[macro_export]
macro_rules! on_engines {
    (ahead: $($claim:ident)+ $(; not ahead: $($other:ident)+)?) => {
        $crate::on_engines! { $($claim)+ $($($other)+)? }
        $crate::on_engine! { ahead: $($claim)+ }
    };
    ($($(#[$attribute:meta])* $claim:ident)+ $(; cpu: $($own:ident)+)?) => {
        $crate::on_engine! { reference: $($(#[$attribute])* $claim)+ }
        $crate::on_engine! { cpu: $($(#[$attribute])* $claim)+ $($($own)+)? }
        $crate::on_engine! { wgpu: $(#[ignore = "needs a driver: cargo xtask test wgpu"] $(#[$attribute])* $claim)+
            $($(#[ignore = "needs a driver: cargo xtask test wgpu"] $own)+)? }
    };
}

/// The same on one engine.
#[macro_export]
macro_rules! on_engine {
    ($engine:ident: $($(#[$attribute:meta])* $claim:ident)+) => {
        mod $engine {
            $($(#[$attribute])*
            #[test]
            fn $claim() {
                $crate::forbid_eval_if_asked();
                $crate::ahead();
                super::$claim(stringify!($engine));
            })+
        }
    };
}
