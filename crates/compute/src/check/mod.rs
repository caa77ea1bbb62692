//! The checks of a plan before code runs on it: any caller can build a plan, and kernels rely on these properties.
//!
//! - Every op infers, from the types of its operands, exactly the types of its results; bodies of regions are
//!   well-formed.
//! - Sizes at the bucket are whole rows and can be addressed; values in the arena are aligned, inside it, and written
//!   by the plan before they are read.
//! - Weights, states and ports are in the interface, with the same types, from their first byte on.
//! - A state that a step consumes is written in the same place, and no other state is written; weights are never.
//! - Results of one step do not overlap; a grid has tiles that can be counted, and as many blocks of columns as its
//!   results take.
//! - Scratch is aligned, inside the arena, on no argument of its step and on no value that is read later; a first phase
//!   has scratch and the rows of its step.
//!
//! That no value of the arena is overwritten by another before its last use is not checked here: it depends on which
//! value a step means, and is the compiler's to check.

mod body;

use crate::engine::{Bindings, Buffer};
use crate::plan::{Arg, Grid, Plan, Region, Step};
use crate::{Error, Result};
use inkstone_tensor::{Dim, Op, Sizes, Type};
use std::collections::BTreeMap;
use std::ops::Range;

/// Values in the arena begin at multiples of so many bytes.
pub const ARENA_ALIGN: u64 = 64;

/// The fault of a step, if it has one.
type Fault<T = ()> = Result<T, String>;

impl Plan {
    /// Checks the properties that every engine relies on.
    ///
    /// # Errors
    /// [`Error::BadPlan`] with the step and its fault.
    pub fn check(&self) -> Result<()> {
        let mut written = Written::default();
        for (index, step) in self.steps.iter().enumerate() {
            self.check_step(step, &mut written).map_err(|fault| Error::BadPlan {
                plan: self.name.clone(),
                step: index,
                op: step.op.name().to_owned(),
                fault,
            })?;
        }
        Ok(())
    }

    fn check_step(&self, step: &Step, written: &mut Written) -> Fault {
        let operands = step.args.iter().take_while(|a| !a.write).count();
        let (ins, outs) = step.args.split_at(operands);
        if outs.iter().any(|a| !a.write) {
            return Err("an operand stands behind a result".to_owned());
        }
        step.args.iter().try_for_each(|a| self.check_size(a))?;
        step.args.iter().try_for_each(|a| self.check_place(a))?;
        self.check_scratch(step)?;
        check_types(&step.op, ins, outs)?;
        check_states(&step.op, ins, outs)?;
        check_results(outs, &self.bucket)?;
        for a in ins.iter().filter(|a| a.region == Region::Arena) {
            if !written.covers(a.offset, end(a, &self.bucket)) {
                return Err(format!("operand {a} {} is read before it is written", a.ty));
            }
        }
        outs.iter().filter(|a| a.region == Region::Arena).for_each(|a| written.add(a.offset, end(a, &self.bucket)));
        written.remove(step.scratch.start, step.scratch.end);
        check_grid(step, &self.bucket)
    }

    /// Checks that scratch is inside the arena and apart from the arguments of its step.
    fn check_scratch(&self, step: &Step) -> Fault {
        let Range { start, end: last } = step.scratch;
        if start > last || last > self.arena_bytes {
            return Err(format!("scratch at bytes {start} to {last} of an arena of {}", self.arena_bytes));
        }
        if !start.is_multiple_of(ARENA_ALIGN) {
            return Err(format!("scratch at byte {start}, allowed: multiples of {ARENA_ALIGN}"));
        }
        let on = |a: &&Arg| a.region == Region::Arena && a.offset < last && start < end(a, &self.bucket);
        match step.args.iter().find(on) {
            Some(a) if start < last => Err(format!("scratch at bytes {start} to {last} overlaps {a} {}", a.ty)),
            _ => Ok(()),
        }
    }

    /// Sizes can be computed and addressed.
    fn check_size(&self, a: &Arg) -> Fault {
        let Type { dtype, cols, rows, .. } = a.ty;
        if cols == 0 || dtype.row_bytes(cols).is_none() {
            return Err(format!("{a} {}: {cols} columns are not whole blocks of {dtype}", a.ty));
        }
        if !matches!(rows, Dim::N(_)) && rows.at(&self.bucket) == 0 {
            return Err(format!("{a} {}: the bucket has no {rows}", a.ty));
        }
        let bytes = dtype.row_bytes(cols).and_then(|b| b.checked_mul(rows.at(&self.bucket)));
        let end = bytes.and_then(|b| (b as u64).checked_add(a.offset)).filter(|end| *end <= isize::MAX as u64);
        end.map(drop).ok_or_else(|| format!("{a} {}: more bytes than can be addressed", a.ty))
    }

    /// Checks that it is inside the interface or the arena.
    fn check_place(&self, a: &Arg) -> Fault {
        let known = match a.region {
            Region::Arena => {
                let end = end(a, &self.bucket);
                if !a.offset.is_multiple_of(ARENA_ALIGN) {
                    return Err(format!("{a} {}: its offset is not a multiple of {ARENA_ALIGN}", a.ty));
                }
                if end > self.arena_bytes {
                    return Err(format!("{a} {} ends at byte {end} of {}", a.ty, self.arena_bytes));
                }
                return if a.ty.state { Err(format!("{a} {}: a state in the arena", a.ty)) } else { Ok(()) };
            }
            Region::Weight(id) => self.interface.weights.get(id as usize).map(|w| w.ty),
            Region::State(id) => self.interface.states.get(id as usize).map(|s| s.ty),
            Region::Port(port) => self.interface.port(port),
        };
        let Some(known) = known else { return Err(format!("{a} is not in the interface")) };
        if known != a.ty {
            return Err(format!("{a} is {}, in the interface {known}", a.ty));
        }
        if known.state != matches!(a.region, Region::State(_)) {
            return Err(format!("{a} {known}: states are the only values that are states"));
        }
        if a.offset != 0 {
            return Err(format!("{a} begins at byte {}, allowed: 0", a.offset));
        }
        if a.write && matches!(a.region, Region::Weight(_)) {
            return Err(format!("{a} is written, but weights are read only"));
        }
        Ok(())
    }
}

fn end(a: &Arg, bucket: &Sizes) -> u64 {
    a.offset.saturating_add(a.ty.bytes(bucket))
}

fn check_types(op: &Op, ins: &[Arg], outs: &[Arg]) -> Fault {
    if let Op::Region(region) = op {
        body::check(&region.body)?;
    }
    let ins: Vec<Type> = ins.iter().map(|a| a.ty).collect();
    let results = op.infer(&ins).map_err(|mismatch| mismatch.to_string())?;
    if results.iter().eq(outs.iter().map(|a| &a.ty)) {
        return Ok(());
    }
    let list = |types: Vec<String>| types.join(", ");
    let expected = list(results.iter().map(Type::to_string).collect());
    Err(format!("results [{}], expected [{expected}]", list(outs.iter().map(|a| a.ty.to_string()).collect())))
}

/// Checks that every consumed state is written in place, and that every written state is an operand exactly once.
fn check_states(op: &Op, ins: &[Arg], outs: &[Arg]) -> Fault {
    let consumed = op.consumes();
    let next = outs.iter().skip(outs.len().saturating_sub(consumed.len()));
    for (consumed, next) in consumed.iter().filter_map(|i| ins.get(*i)).zip(next) {
        if !outs.iter().any(|o| o.region == consumed.region) {
            return Err(format!("{consumed} is consumed, but not written"));
        }
        if next.region != consumed.region {
            return Err(format!("{consumed} is consumed, but {next} is the result in its place"));
        }
    }
    for out in outs.iter().filter(|o| o.ty.state) {
        let reads = ins.iter().filter(|i| i.region == out.region).count();
        let writes = outs.iter().filter(|o| o.region == out.region).count();
        if (reads, writes) != (1, 1) {
            return Err(format!("state {out} is read {reads} times and written {writes} times, allowed: once each"));
        }
    }
    Ok(())
}

fn check_results(outs: &[Arg], bucket: &Sizes) -> Fault {
    let overlap = |a: &Arg, b: &Arg| a.region == b.region && a.offset < end(b, bucket) && b.offset < end(a, bucket);
    for (i, a) in outs.iter().enumerate() {
        if let Some(b) = outs[..i].iter().find(|b| overlap(a, b)) {
            return Err(format!("results {b} and {a} overlap"));
        }
    }
    Ok(())
}

/// A grid of a step has tiles, which can be counted.
fn check_tiles(grid: &Grid, bucket: &Sizes) -> Fault {
    for (what, value) in [("rows", grid.row_block), ("columns", grid.col_block), ("blocks of columns", grid.col_blocks)]
    {
        if value == 0 {
            return Err(format!("a grid of 0 {what} a tile"));
        }
    }
    if grid.row_blocks(bucket).checked_mul(grid.col_blocks).is_none_or(|tiles| tiles > u32::MAX as usize) {
        return Err(format!("{} x {} tiles, allowed: {}", grid.row_blocks(bucket), grid.col_blocks, u32::MAX));
    }
    Ok(())
}

fn check_grid(step: &Step, bucket: &Sizes) -> Fault {
    let grid = step.grid;
    check_tiles(&grid, bucket)?;
    if let Some(first) = step.first {
        check_tiles(&first, bucket)?;
        if first.rows != grid.rows {
            return Err(format!("a first phase along {}, its step along {}", first.rows, grid.rows));
        }
        if step.scratch.is_empty() {
            return Err("a first phase without scratch".to_owned());
        }
    }
    if let Some(a) = step.ins().find(|a| a.cut.cols) {
        return Err(format!("operand {a} {} is cut by columns, allowed: results", a.ty));
    }
    if let Some(a) = step.outs().find(|a| a.cut.cols && a.ty.state && !grid.parts(&a.ty)) {
        return Err(format!(
            "state {a} {} has no equal number of heads for each of {} blocks of columns",
            a.ty, grid.col_blocks
        ));
    }
    let cut = step.outs().filter(|a| a.cut.cols && !a.ty.state).map(|a| grid.blocks_of(a.ty.cols));
    let takes = cut.fold(0, usize::saturating_add).max(1);
    if takes != grid.col_blocks {
        return Err(format!("{} blocks of {} columns, its results take {takes}", grid.col_blocks, grid.col_block));
    }
    Ok(())
}

/// Bytes that were written: disjoint ranges that do not touch, by their start.
#[derive(Default)]
struct Written(BTreeMap<u64, u64>);

impl Written {
    fn covers(&self, start: u64, end: u64) -> bool {
        start >= end || self.0.range(..=start).next_back().is_some_and(|(_, e)| *e >= end)
    }

    fn add(&mut self, mut start: u64, mut end: u64) {
        while let Some((&s, &e)) = self.0.range(..=end).next_back().filter(|(_, e)| **e >= start) {
            self.0.remove(&s);
            (start, end) = (start.min(s), end.max(e));
        }
        self.0.insert(start, end);
    }

    fn remove(&mut self, start: u64, end: u64) {
        while let Some((&s, &e)) = self.0.range(..end).next_back().filter(|(_, e)| start < end && **e > start) {
            self.0.remove(&s);
            if s < start {
                self.0.insert(s, start);
            }
            if e > end {
                self.0.insert(end, e);
            }
        }
    }
}

impl Bindings {
    /// Checks that every buffer used by a plan is bound, that no two regions share a buffer, and that it holds the
    /// bytes that the plan uses. The engine checks its weights.
    ///
    /// # Errors
    /// [`Error::Unbound`] with both sizes; [`Error::SharedBuffer`].
    pub fn check(&self, plan: &Plan) -> Result<()> {
        self.check_shared(plan)?;
        let mut needs = BTreeMap::from([(Region::Arena, plan.arena_bytes)]);
        for a in plan.steps.iter().flat_map(|s| &s.args).filter(|a| !matches!(a.region, Region::Weight(_))) {
            let bytes = needs.entry(a.region).or_default();
            *bytes = (*bytes).max(end(a, &plan.bucket));
        }
        for (region, bytes) in needs {
            let bound = self.buffer(region).map_or(0, |b| b.bytes());
            if bound < bytes {
                return Err(Error::Unbound { plan: plan.name.clone(), region, bytes, bound });
            }
        }
        Ok(())
    }

    /// No buffer stands for two memories.
    fn check_shared(&self, plan: &Plan) -> Result<()> {
        let states = self.states.iter().enumerate().map(|(i, b)| (Region::State(i as u32).to_string(), b));
        let ports = self.ports.iter().map(|(port, b)| (Region::Port(*port).to_string(), b));
        let others = [(Region::Arena.to_string(), &self.arena), ("the step buffer".to_owned(), &self.step)];
        let mut seen: Vec<(String, &Buffer)> = Vec::new();
        for (second, buffer) in states.chain(ports).chain(others) {
            if let Some((first, _)) = seen.iter().find(|(_, b)| b.is(buffer)) {
                return Err(Error::SharedBuffer { plan: plan.name.clone(), first: first.clone(), second });
            }
            seen.push((second, buffer));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
