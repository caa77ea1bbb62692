//! An independent check of the result of the passes. It does not use lifetimes or graphs: it visits the steps of the
//! finished plan and records the value that each byte holds.

use crate::passes::memory::ALIGN;
use crate::{Error, Result};
use inkstone_compute::{Arg, Plan, Region};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// Checks that every step of a plan finds all bytes of its operands, and that its results and its scratch do not overlap
/// its operands or each other.
/// Only for plans of one graph: a linked plan names the value of a port twice.
///
/// # Errors
/// [`Error::Memory`] with the first step that fails the check.
pub fn check(plan: &Plan) -> Result<()> {
    let mut owners = Owners::default();
    for (i, step) in plan.steps.iter().enumerate() {
        step_finds_its_values(plan, i, &mut owners).map_err(|fault| Error::Memory {
            plan: plan.name.clone(),
            step: i,
            op: step.op.name().to_owned(),
            fault,
        })?;
    }
    Ok(())
}

fn step_finds_its_values(plan: &Plan, index: usize, owners: &mut Owners) -> Result<(), String> {
    let step = &plan.steps[index];
    let bytes = |a: &Arg| match a.offset.checked_add(a.ty.bytes(&plan.bucket)) {
        Some(end) => Ok(a.offset..end),
        None => Err(format!("%{} does not end", a.value)),
    };
    for a in &step.args {
        let range = bytes(a)?;
        if a.region == Region::Arena && (range.end > plan.arena_bytes || !a.offset.is_multiple_of(ALIGN)) {
            return Err(format!("%{} at {range:?} of an arena of {} bytes", a.value, plan.arena_bytes));
        }
        if a.write && matches!(a.region, Region::Weight(_)) {
            return Err(format!("%{} is written into {}", a.value, a.region));
        }
    }
    let scratch = &step.scratch;
    if scratch.start > scratch.end || scratch.end > plan.arena_bytes || !scratch.start.is_multiple_of(ALIGN) {
        return Err(format!("scratch at {scratch:?} of an arena of {} bytes", plan.arena_bytes));
    }
    for a in step.ins() {
        owners.read(a, bytes(a)?)?;
    }
    owners.write(Region::Arena, scratch.clone(), Owner::Scratch(index));
    for a in step.outs() {
        owners.write(a.region, bytes(a)?, Owner::Value(a.value));
    }
    let mut held = owners.overlapping(Region::Arena, scratch).filter(|(.., owner)| *owner != Owner::Scratch(index));
    if let Some((at, _, owner)) = held.next() {
        return Err(format!("its scratch has byte {}, which holds {owner}", at.max(scratch.start)));
    }
    drop(held);
    // A result on the bytes of an operand would be written while other tiles still read; only states may.
    for a in step.ins().filter(|a| !matches!(a.region, Region::State(_))).chain(step.outs()) {
        owners.read(a, bytes(a)?)?;
    }
    Ok(())
}

/// The owner of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    Value(u32),
    /// Of the step with this index; afterwards nobody reads it.
    Scratch(usize),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Owner::Value(value) => write!(f, "%{value}"),
            Owner::Scratch(step) => write!(f, "scratch of step {step}"),
        }
    }
}

/// The owner of each range of bytes. The ranges do not overlap, and are indexed by their first byte.
#[derive(Default)]
struct Owners(BTreeMap<(Region, u64), (u64, Owner)>);

impl Owners {
    fn write(&mut self, region: Region, range: Range<u64>, new: Owner) {
        if range.is_empty() {
            return;
        }
        let overlapping: Vec<(u64, u64, Owner)> = self.overlapping(region, &range).collect();
        for (start, end, owner) in overlapping {
            self.0.remove(&(region, start));
            if start < range.start {
                self.0.insert((region, start), (range.start, owner));
            }
            if end > range.end {
                self.0.insert((region, range.end), (end, owner));
            }
        }
        self.0.insert((region, range.start), (range.end, new));
    }

    /// Checks a read. Bytes that no step wrote are inputs, except in the arena.
    fn read(&mut self, a: &Arg, range: Range<u64>) -> Result<(), String> {
        let found: Vec<(u64, u64, Owner)> = self.overlapping(a.region, &range).collect();
        let wrong =
            |at: u64, what: String| Err(format!("reads %{} from {} byte {at}, which holds {what}", a.value, a.region));
        if let Some((start, _, owner)) = found.iter().find(|(.., owner)| *owner != Owner::Value(a.value)) {
            return wrong(*start.max(&range.start), owner.to_string());
        }
        let mut at = range.start;
        for (start, end, _) in found {
            if start > at && a.region == Region::Arena {
                break;
            }
            at = end;
        }
        match a.region {
            Region::Arena if at < range.end => wrong(at, "no value".to_owned()),
            Region::Arena => Ok(()),
            _ => {
                self.write(a.region, range, Owner::Value(a.value));
                Ok(())
            }
        }
    }

    /// Start, end and owner of the ranges that have bytes in `range`, ascending.
    fn overlapping(&self, region: Region, range: &Range<u64>) -> impl Iterator<Item = (u64, u64, Owner)> {
        let before = self.0.range(..(region, range.start)).next_back();
        let before = before.filter(|((r, _), (end, _))| *r == region && *end > range.start);
        let within = self.0.range((region, range.start)..(region, range.end.max(range.start)));
        before.into_iter().chain(within).map(|((_, start), (end, owner))| (*start, *end, *owner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_compute::{Cut, Grid, Interface, Step};
    use inkstone_tensor::ops::{Expr, Map, Term};
    use inkstone_tensor::{Dim, Sizes, Type};
    use std::sync::Arc;

    fn arg(region: Region, offset: u64, value: u32, write: bool) -> Arg {
        Arg { region, offset, ty: Type::f32(Dim::Rows, 16), value, write, cut: Cut::default() }
    }

    /// Operands and result of a step, each an offset and a value of 128 bytes.
    type Touched<'a> = (&'a [(u64, u32)], (u64, u32));

    fn plan(steps: &[Touched]) -> Plan {
        let step = |(ins, out): &Touched| Step {
            op: Map(Expr::new(&[Term::In(0)])).into(),
            kernel: "eval".to_owned(),
            args: ins
                .iter()
                .map(|(at, v)| arg(Region::Arena, *at, *v, false))
                .chain([arg(Region::Arena, out.0, out.1, true)])
                .collect(),
            grid: Grid { rows: Dim::Rows, row_block: usize::MAX, col_block: usize::MAX, col_blocks: 1 },
            scratch: 0..0,
            first: None,
            refused: Vec::new(),
        };
        let bucket = Sizes { rows: 2, logit_rows: 0, slots: Default::default() };
        let steps = steps.iter().map(step).collect();
        Plan { name: "p".to_owned(), bucket, steps, arena_bytes: 384, interface: Arc::new(Interface::default()) }
    }

    fn fault(steps: &[Touched]) -> String {
        check(&plan(steps)).map_or_else(|e| e.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn values_that_lie_where_they_are_named_pass() {
        assert_eq!(
            fault(&[(&[], (0, 0)), (&[(0, 0)], (128, 1)), (&[(128, 1), (0, 0)], (256, 2)), (&[(256, 2)], (0, 3))]),
            "none"
        );
    }

    #[test]
    fn a_value_under_another_is_found() {
        let expected = "plan p, step 2 (map): reads %0 from arena byte 64, which holds %1";
        assert_eq!(fault(&[(&[], (0, 0)), (&[], (64, 1)), (&[(0, 0)], (256, 2))]), expected);
        assert_eq!(
            fault(&[(&[], (0, 0)), (&[(0, 0)], (64, 1))]),
            "plan p, step 1 (map): reads %0 from arena byte 64, which holds %1"
        );
    }

    #[test]
    fn what_nobody_wrote_is_found() {
        assert!(fault(&[(&[(0, 0)], (128, 1))]).contains("reads %0 from arena byte 0, which holds no value"));
        assert!(
            fault(&[(&[], (0, 0)), (&[], (128, 0)), (&[(64, 0)], (256, 2)), (&[(192, 0)], (0, 3))])
                .contains("byte 256")
        );
    }

    #[test]
    fn a_range_out_of_the_arena_or_of_line_is_found() {
        assert!(fault(&[(&[], (320, 0))]).contains("%0 at 320..448 of an arena of 384 bytes"));
        assert!(fault(&[(&[], (4, 0))]).contains("%0 at 4..132"));
        assert!(fault(&[(&[], (u64::MAX - 63, 0))]).contains("%0 does not end"));
    }

    /// The fault when the second of three steps, each of which reads the result of the one before, has this scratch.
    fn fault_of_scratch(scratch: Range<u64>) -> String {
        let mut p = plan(&[(&[], (0, 0)), (&[(0, 0)], (128, 1)), (&[(0, 0), (128, 1)], (256, 2))]);
        p.steps[1].scratch = scratch;
        check(&p).map_or_else(|e| e.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn scratch_that_holds_nothing_else_passes() {
        assert_eq!(fault_of_scratch(256..384), "none");
    }

    #[test]
    fn scratch_out_of_the_arena_or_of_line_is_found() {
        let at = |scratch| format!("plan p, step 1 (map): scratch at {scratch} of an arena of 384 bytes");
        assert_eq!(fault_of_scratch(320..385), at("320..385"));
        assert_eq!(fault_of_scratch(260..264), at("260..264"));
        assert_eq!(fault_of_scratch(Range { start: 384, end: 256 }), at("384..256"));
    }

    #[test]
    fn scratch_on_an_argument_of_its_step_is_found() {
        let operand = "plan p, step 1 (map): reads %0 from arena byte 64, which holds scratch of step 1";
        assert_eq!(fault_of_scratch(64..72), operand);
        let result = "plan p, step 1 (map): its scratch has byte 192, which holds %1";
        assert_eq!(fault_of_scratch(192..320), result);
    }

    #[test]
    fn scratch_on_a_live_value_is_found() {
        let mut p = plan(&[(&[], (0, 0)), (&[], (128, 1)), (&[(0, 0), (128, 1)], (256, 2))]);
        p.steps[1].scratch = 0..64;
        let text = "plan p, step 2 (map): reads %0 from arena byte 0, which holds scratch of step 1";
        assert_eq!(check(&p).unwrap_err().to_string(), text);
    }

    #[test]
    fn states_are_written_in_place_and_old_versions_are_gone() {
        let mut p = plan(&[(&[], (0, 9)), (&[(0, 9)], (128, 8))]);
        let state = |v, write| arg(Region::State(0), 0, v, write);
        p.steps[0].args = [state(0, false), state(1, true)].into_iter().collect();
        p.steps[1].args = [state(1, false), state(2, true)].into_iter().collect();
        check(&p).unwrap();
        p.steps[1].args[0].value = 0;
        let error = check(&p).unwrap_err().to_string();
        assert_eq!(error, "plan p, step 1 (map): reads %0 from state0 byte 0, which holds %1");
    }

    #[test]
    fn weights_are_never_written() {
        let mut p = plan(&[(&[], (0, 0))]);
        p.steps[0].args[0].region = Region::Weight(3);
        assert!(check(&p).unwrap_err().to_string().contains("%0 is written into w3"));
    }
}
