//! Elementary functions of `f64` with the same bits on every machine.
//!
//! The functions of the standard library are those of the platform, and their last bits differ between platforms; a
//! token must not depend on them. These here use only operations that IEEE 754 rounds exactly (`+ - * /`, conversions,
//! bits), never a fused multiply-add, so that they give the same bits everywhere.
//!
//! **Bounds.** The error of [`exp`], [`ln`], [`tanh`] and [`pow`] is below 0.6 units in the last place (ulp), that of
//! [`sin`] and [`cos`] below 0.8, for every argument, also a huge one; where the result is subnormal, below 1. Special
//! cases (zeros, infinities, NaN, the many of `pow`) are those of C99, annex F.
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
