//! Elementary functions of many floats, for custom kernels: compiled for each instruction set, with the same bits on
//! all of them. Errors are in units in the last place (ulp) of the result.
//!
//! ```
//! let mut x = [0.0, 1.0, -1.0];
//! inkstone_engine_cpu::math::exp(&mut x);
//! assert_eq!(x, [1.0, 2.7182817, 0.36787945]);
//! ```

#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512};
use crate::isa::{Body, Floats, Isa, LANES, Portable, math};

/// e to the power of each; below 1 ulp, and 0 below -87.
pub fn exp(x: &mut [f32]) {
    each(Function::Exp, x);
}

/// The hyperbolic tangent of each; below 2.5 ulp.
pub fn tanh(x: &mut [f32]) {
    each(Function::Tanh, x);
}

/// The sine of each, in radians; below 1.5 ulp however large the angle.
pub fn sin(x: &mut [f32]) {
    each(Function::Sin, x);
}

/// The cosine of each, in radians; below 1.5 ulp however large the angle.
pub fn cos(x: &mut [f32]) {
    each(Function::Cos, x);
}

/// Each to the power of `y`; below 1 ulp, with the special cases of C99.
pub fn pow(x: &mut [f32], y: f32) {
    each(Function::Pow(y), x);
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    Exp,
    Tanh,
    Sin,
    Cos,
    Pow(f32),
}

/// On the best set that is here.
fn each(f: Function, x: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(isa) = Avx512::detect() {
            return isa.run(Each(isa, f, x));
        }
        if let Some(isa) = Avx2::detect() {
            return isa.run(Each(isa, f, x));
        }
    }
    Portable.run(Each(Portable, f, x));
}

/// A function, to be applied to each of some floats on a set.
pub(crate) struct Each<'a, I>(pub(crate) I, pub(crate) Function, pub(crate) &'a mut [f32]);

impl<I: Floats> Body for Each<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Each(isa, f, x) = self;
        for i in 0..x.len().div_ceil(LANES) {
            let a = isa.take(x, i, 0.0);
            let y = match f {
                Function::Exp => math::exp(isa, a),
                Function::Tanh => math::tanh(isa, a),
                Function::Sin => math::sin_cos(isa, &isa.lanes(a).map(f64::from))[0],
                Function::Cos => math::sin_cos(isa, &isa.lanes(a).map(f64::from))[1],
                Function::Pow(y) => math::pow(isa, a, isa.splat_float(y)),
            };
            isa.put(x, i, y);
        }
    }
}
