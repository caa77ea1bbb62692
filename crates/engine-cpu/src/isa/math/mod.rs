//! Elementary functions of 16 floats: one source for all instruction sets, with the same bits. The tests compare them
//! with `inkstone_tensor::math`.

mod exp;
mod pow;
mod tanh;
mod trig;

pub(crate) use exp::exp;
pub(crate) use pow::pow;
pub(crate) use tanh::tanh;
pub(crate) use trig::sin_cos;

#[cfg(test)]
mod tests;
