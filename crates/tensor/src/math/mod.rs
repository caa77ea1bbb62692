//! Elementary functions of `f64` with the same bits on every machine.
//!
//! The standard library calls the functions of the platform, whose last bits differ between platforms, and a token must
//! not depend on them. The functions of this module use only operations that IEEE 754 rounds exactly (`+ - * /`,
//! conversions, bits), never a fused multiply-add, so that they return the same bits everywhere.
//!
//! **Bounds.** The error is below 0.6 units in the last place (ulp) for [`exp`], [`ln`], [`tanh`] and [`pow`], and
//! below 0.8 for [`sin`] and [`cos`], for every argument, including huge ones; for subnormal results it is below 1.
//! Special cases (zeros, infinities, NaN, the many cases of `pow`) follow C99, annex F.
//!
//! They expect the default rounding mode, to nearest, and no flushing of subnormal numbers.

mod double;
mod exp;
mod ln;
mod pow;
mod tables;
mod tanh;
mod trig;

pub use exp::exp;
pub use ln::ln;
pub use pow::pow;
pub use tanh::tanh;
pub use trig::{cos, sin, sin_cos};
