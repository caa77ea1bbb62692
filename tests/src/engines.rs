//! Checks on every engine, and the definitions with the CPU engine's activations.

use inkstone::compute::{EngineOptions, Kernel, Pattern, Reference, ReferenceKernel};
use inkstone::tensor::DType;
use inkstone_engine_cpu::Q8;
use std::sync::Arc;

/// Makes an engine known that computes by the definitions, but for products: their activations are encoded as the CPU
/// engine does it. What is left between the two is the order of sums in single precision. Returns its name.
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

/// Makes a test of each claim on each engine of this build, in a module that is named after the engine. A claim is a
/// function of that name in the same file, which takes the engine's name.
#[macro_export]
macro_rules! on_engines {
    ($($(#[$attribute:meta])* $claim:ident)+) => {
        $crate::on_engine! { reference: $($(#[$attribute])* $claim)+ }
        $crate::on_engine! { cpu: $($(#[$attribute])* $claim)+ }
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
                super::$claim(stringify!($engine));
            })+
        }
    };
}
