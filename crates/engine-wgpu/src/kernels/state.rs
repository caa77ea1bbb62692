//! The bookkeeping of sequences on the device.

use super::one;
use crate::call::{Call, Dispatch};
use crate::shader::Shader;

pub(super) fn begin_step(call: &Call) -> Result<Vec<Dispatch>, String> {
    let groups = [call.rows().div_ceil(64), 1, 1];
    let parameters = call.parameters(&[call.outs[0].at()?]);
    one(Dispatch::new(Shader::named("begin_step"), parameters, groups).states(Some(call.ins[0].state()?), None))
}

pub(super) fn advance(call: &Call) -> Result<Vec<Dispatch>, String> {
    one(Dispatch::new(Shader::named("advance"), Vec::new(), [1; 3]).states(Some(call.ins[0].state()?), None))
}

pub(super) fn accept(call: &Call) -> Result<Vec<Dispatch>, String> {
    let parameters = call.parameters(&[call.ins[1].at()?]);
    one(Dispatch::new(Shader::named("accept"), parameters, [1; 3]).states(Some(call.ins[0].state()?), None))
}
