//! `range`: ints that are not there until they are asked for.

use crate::env::Env;
use crate::error::{Result, wrong};
use crate::meter::Charge;
use crate::slice::Bounds;
use crate::value::Value;
use std::rc::Rc;

/// The longest one.
const LONGEST: i128 = 100_000;
/// Its numbers are less than this, so that differences of two have 128 bits.
const LIMIT: u128 = 1 << 125;

/// The numbers from `start` on, in steps, before `stop`.
pub(crate) struct Range {
    pub start: i128,
    pub stop: i128,
    pub step: i128,
    pub len: u32,
    _charge: Charge,
}

impl Range {
    pub(crate) fn value(env: &Env, start: i128, stop: i128, step: i128) -> Result<Value> {
        if [start, stop, step].iter().any(|n| n.unsigned_abs() >= LIMIT) {
            return wrong("range: an integer of more than 125 bits");
        }
        if step == 0 {
            return wrong("range: step is 0");
        }
        let between = if step > 0 { stop - start } else { start - stop };
        let len = if between <= 0 { 0 } else { (between - 1) / step.abs() + 1 };
        if len > LONGEST {
            return wrong(format!("range: {len} values, allowed: {LONGEST}"));
        }
        let charge = Charge::of::<Range>(&env.meter, 0)?;
        Ok(Value::Range(Rc::new(Range { start, stop, step, len: len as u32, _charge: charge })))
    }

    /// The number at a place; `len` is one behind the last.
    pub(crate) fn get(&self, i: usize) -> Value {
        Value::Int(self.number(i as i64).unwrap_or_default())
    }

    fn number(&self, i: i64) -> Option<i128> {
        self.step.checked_mul(i.into())?.checked_add(self.start)
    }

    pub(crate) fn contains(&self, n: i128) -> bool {
        let Some(from_start) = n.checked_sub(self.start) else { return false };
        from_start % self.step == 0 && (0..i128::from(self.len)).contains(&(from_start / self.step))
    }

    /// `range[a:b:c]`
    pub(crate) fn slice(&self, Bounds { start, stop, step }: Bounds, env: &Env) -> Result<Value> {
        match (self.number(start), self.number(stop), self.step.checked_mul(step.into())) {
            (Some(start), Some(stop), Some(step)) => Range::value(env, start, stop, step),
            _ => wrong("range: an integer of more than 125 bits"),
        }
    }
}
