//! Checks the indices of a step. Definitions index with the tokens, positions and page tables of a step, so these are
//! checked first and reported as errors. Otherwise an invalid step would cause a panic, and the states that the op had
//! consumed would be lost.

use inkstone_tensor::body::Node;
use inkstone_tensor::ops::HISTORY;
use inkstone_tensor::ops::{By, Embed};
use inkstone_tensor::step::{ROWS, SEQS, StepError, StepView, carry, page, rows};
use inkstone_tensor::{Array, Op, Sizes, Slots};

/// Checks what an op will look up for these operands in a step of these sizes. An engine that evaluates definitions
/// calls this first, because they panic on an index that is out of range.
///
/// # Errors
/// The first token, position, length or page that is out of range.
pub fn check_indices(op: &Op, step: &StepView, ins: &[Array], sizes: &Sizes) -> Result<(), StepError> {
    let operands: Vec<Operand> = ins.iter().map(|a| Operand { value: Some(a), group: a.group() }).collect();
    check_op(op, step, &operands, &sizes.slots)
}

/// An operand of an op.
#[derive(Clone, Copy)]
struct Operand<'a> {
    /// `None` for a value that is computed inside a region.
    value: Option<&'a Array>,
    /// The layer group of a cache.
    group: usize,
}

fn check_op(op: &Op, step: &StepView, ins: &[Operand], slots: &Slots) -> Result<(), StepError> {
    let operand = |i: usize| ins.get(i).and_then(|o| o.value);
    let paged = |rows: usize, group: usize, earlier| match operand(rows) {
        Some(rows) => places(step, rows, group, slots.of(group), earlier),
        None => Ok(()),
    };
    let group = |i: usize| ins.get(i).map_or(0, |o| o.group);
    match op {
        Op::Region(region) => {
            let body = &region.body;
            let outer = |v| body.inputs.iter().position(|i| *i == v).and_then(operand);
            body.nodes.iter().try_for_each(|Node { op, ins, .. }| {
                let inner = ins.iter().map(|v| Operand { value: outer(*v), group: body.ty(*v).rows.group() });
                check_op(op, step, &inner.collect::<Vec<_>>(), slots)
            })
        }
        Op::BeginStep(_) | Op::Advance(_) => operand(0).map_or(Ok(()), |c| lengths(step, c)),
        Op::Embed(op) => match (operand(0), operand(1)) {
            (Some(rows), Some(table)) => looked_up(*op, rows, table.rows()),
            _ => Ok(()),
        },
        Op::KvWrite(_) => paged(2, group(0), false),
        Op::Attend(_) => paged(3, group(1), true),
        Op::HistoryWrite(_) => paged(1, HISTORY.rows.group(), false),
        Op::Sample(_) => paged(1, HISTORY.rows.group(), true),
        _ => Ok(()),
    }
}

fn below(what: &'static str, value: usize, limit: usize) -> Result<(), StepError> {
    if value < limit { Ok(()) } else { Err(StepError { what, value, allowed: limit.checked_sub(1) }) }
}

/// Lengths can grow by the rows of this step.
fn lengths(step: &StepView, state: &Array) -> Result<(), StepError> {
    if !state.is_of(&carry::CARRY) {
        return Ok(());
    }
    let words = state.all::<u32>();
    step.seqs.iter().filter(|s| (s.slot as usize) < SEQS).try_for_each(|s| {
        let length = words.get(carry::word(carry::LENGTH, s.slot as usize)).copied().unwrap_or(0);
        below("length of a sequence", length as usize + s.rows as usize, u32::MAX as usize)
    })
}

/// Tokens, or positions, are in the table.
fn looked_up(embed: Embed, values: &Array, table: usize) -> Result<(), StepError> {
    if !values.is_of(&ROWS) {
        return Ok(());
    }
    let what = match embed.by {
        By::Token => "token",
        By::Position => "position",
    };
    rows(values.all()).try_for_each(|row| below(what, embed.index(&row), table))
}

/// Every position of a row has a page, and the page is in the cache. Rows may come from a port, so they are not
/// trusted. `earlier`: the op also reads the positions before a row.
fn places(step: &StepView, values: &Array, group: usize, slots: usize, earlier: bool) -> Result<(), StepError> {
    if !values.is_of(&ROWS) {
        return Ok(());
    }
    let (size, pages) = (step.header.page as usize, slots / step.header.page as usize);
    let mut reach = [0usize; SEQS];
    for row in rows(values.all()) {
        below("sequence of a row", row.seq as usize, step.seqs.len())?;
        let last = row.position as usize / size;
        page(step.table(row.seq as usize, group), last, pages)?;
        let reach = &mut reach[row.seq as usize];
        *reach = (*reach).max(last);
    }
    for (seq, reach) in reach.iter().enumerate().take(if earlier { step.seqs.len() } else { 0 }) {
        (0..*reach).try_for_each(|index| page(step.table(seq, group), index, pages).map(drop))?;
    }
    Ok(())
}
