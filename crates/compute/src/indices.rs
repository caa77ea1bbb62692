//! Checks the indices of a step. Definitions index with the tokens, positions and page tables of a step, so these are
//! checked first and reported as errors. Otherwise an invalid step would cause a panic, and the states that the op had
//! consumed would be lost.
//!
//! One check is for those who compose steps: no row writes into a page that another sequence of the step has, too. The
//! definition of such a step is clear, but another sequence would find its tokens overwritten, and no result would show
//! it at once. Kernels don't look for it, because they would have to search all page tables.

use inkstone_tensor::body::Node;
use inkstone_tensor::ops::{Attend, By, Embed, HISTORY, Sample};
use inkstone_tensor::step::{ROWS, Row, SEQS, StepError, StepView, carry, page, rows};
use inkstone_tensor::{Array, Op, Sizes, Slots, Visible};

/// Checks what an op will look up for these operands in a step of these sizes. An engine that evaluates definitions
/// calls this first, because they panic on an index that is out of range.
///
/// # Errors
/// The first token, position, length or page that is out of range, or a page that one sequence writes and another one of
/// the step has.
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
    let paged = |rows: usize, group: usize, attend| match operand(rows) {
        Some(rows) => places(step, rows, group, slots.of(group), attend),
        None => Ok(()),
    };
    let written = |rows: usize, group: usize| {
        paged(rows, group, None)?;
        operand(rows).map_or(Ok(()), |rows| unshared(step, rows, group))
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
        Op::KvWrite(_) => written(2, group(0)),
        Op::KvCopy(_) => copied(step, group(0), slots.of(group(0))),
        Op::Attend(op) => paged(3, group(1), Some(op)),
        Op::HistoryWrite(_) => written(1, HISTORY.rows.group()),
        Op::Sample(op) => operand(1).map_or(Ok(()), |rows| drawn(*op, step, rows, slots)),
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
/// trusted. `attend`: the op also reads the positions that the rows of a sequence see, and those between them.
fn places(
    step: &StepView,
    values: &Array,
    group: usize,
    slots: usize,
    attend: Option<&Attend>,
) -> Result<(), StepError> {
    if !values.is_of(&ROWS) {
        return Ok(());
    }
    let (size, pages) = (step.header.page as usize, slots / step.header.page as usize);
    let mut read = [Visible::NONE; SEQS];
    for row in rows(values.all()) {
        below("sequence of a row", row.seq as usize, step.seqs.len())?;
        page(step.table(row.seq as usize, group), row.position as usize / size, pages)?;
        let read = &mut read[row.seq as usize];
        *read = attend.map_or(*read, |attend| read.join(attend.visible(row.position as usize)));
    }
    for (seq, read) in read.into_iter().enumerate().filter(|(_, read)| !read.is_empty()) {
        let table = step.table(seq, group);
        read.pages(size).try_for_each(|index| page(table, index, pages).map(drop))?;
    }
    Ok(())
}

/// Every token that a draw reads has a page, and the page is in the cache.
fn drawn(op: Sample, step: &StepView, values: &Array, slots: &Slots) -> Result<(), StepError> {
    if !values.is_of(&ROWS) {
        return Ok(());
    }
    let (size, group) = (step.header.page as usize, HISTORY.rows.group());
    let rows: Vec<Row> = rows(values.all()).collect();
    for logits in step.logits {
        let row = logits.row as usize;
        below("row of logits", row, rows.len())?;
        below("sequence of a row", rows[row].seq as usize, step.seqs.len())?;
        let Ok(sampler) = op.sampler(step, rows[row]) else { continue };
        let reads = sampler.reads(rows[row].position as usize);
        let table = step.table(rows[row].seq as usize, group);
        let pages = reads.start / size..reads.end.div_ceil(size);
        let mut pages = pages.filter(|_| !reads.is_empty());
        pages.try_for_each(|index| page(table, index, slots.of(group) / size).map(drop))?;
    }
    Ok(())
}

/// No page that a row writes is also in the table of another sequence. The pages are known to exist.
fn unshared(step: &StepView, values: &Array, group: usize) -> Result<(), StepError> {
    if !values.is_of(&ROWS) {
        return Ok(());
    }
    let size = step.header.page as usize;
    // Page and sequence. Rows of a sequence are neighbours, so most rows write the page of the row before.
    let mut written: Vec<(u32, usize)> = Vec::new();
    for row in rows(values.all()) {
        let seq = row.seq as usize;
        let write = (step.table(seq, group)[row.position as usize / size], seq);
        if written.last() != Some(&write) {
            written.push(write);
        }
    }
    written.sort_unstable();
    written.dedup();
    for seq in 0..step.seqs.len() {
        for &page in step.table(seq, group) {
            let first = written.partition_point(|(other, _)| *other < page);
            let mut writers = written[first..].iter().take_while(|(other, _)| *other == page);
            if writers.any(|(_, writer)| *writer != seq) {
                let what = "page that one sequence writes and another one has";
                return Err(StepError { what, value: page as usize, allowed: None });
            }
        }
    }
    Ok(())
}

/// Both pages of each copy are in the cache.
fn copied(step: &StepView, group: usize, slots: usize) -> Result<(), StepError> {
    let pages = slots / step.header.page as usize;
    step.copies_in(group).try_for_each(|copy| copy.pages(pages).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkstone_tensor::ops::{HistoryWrite, KvCopy, KvWrite};
    use inkstone_tensor::step::{LogitWish, PageCopy, Row, SeqStep, StepBuffer};
    use inkstone_tensor::{DType, Type};

    const PAGE: usize = 4;
    const SLOTS: Slots = Slots::new([8 * PAGE, 9 * PAGE, 0, 0]);

    /// Checks an op on a cache of a group, with a row at each of these positions of a sequence with these tables.
    fn checked(
        op: impl Into<Op>,
        group: usize,
        seqs: &[(&[usize], &[&[u32]])],
        copies: &[PageCopy],
    ) -> Result<(), String> {
        let mut buffer = StepBuffer::with_capacity(PAGE, 0, 0, 0);
        let mut rows: Vec<Row> = Vec::new();
        for (seq, (positions, tables)) in seqs.iter().enumerate() {
            let (tokens, logits) = (vec![1; positions.len()], LogitWish::None);
            buffer.push(&SeqStep { slot: seq, tokens: &tokens, tables, logits, sampler: None });
            rows.extend(positions.iter().map(|p| Row { token: 1, position: *p as u32, seq: seq as u32 }));
        }
        copies.iter().for_each(|copy| buffer.copy(*copy));
        let words = buffer.encode(0, 0).to_vec();
        let view = StepView::new(&words).unwrap();
        let sizes = view.sizes(SLOTS);
        let (op, ty) = (op.into(), Type::cache(group, DType::F32, 2, 3));
        let cache = Array::of(&if let Op::HistoryWrite(_) = op { HISTORY } else { ty }, &sizes).unwrap();
        let x = Array::from_rows(rows.len(), 6, |_, _| {});
        let rows = Array::from_u32(3, bytemuck::cast_slice(&rows).to_vec());
        let ins = match op {
            Op::KvWrite(_) => vec![cache, x, rows],
            Op::HistoryWrite(_) => vec![cache, rows],
            _ => vec![cache],
        };
        check_indices(&op, &view, &ins, &sizes).map_err(|error| error.to_string())
    }

    #[test]
    fn pages_that_are_only_read_may_be_shared() {
        let seqs: [(&[usize], &[&[u32]]); 3] =
            [(&[5, 6], &[&[0, 1], &[2, 3]]), (&[4], &[&[0, 2], &[2, 4]]), (&[], &[&[0], &[2]])];
        checked(KvWrite, 0, &seqs, &[]).unwrap();
        checked(KvWrite, 1, &seqs, &[]).unwrap();
        checked(HistoryWrite, 0, &seqs, &[]).unwrap();
        // Twice in the table of one sequence is its own affair.
        checked(KvWrite, 0, &[(&[0, 5], &[&[3, 3]])], &[]).unwrap();
    }

    #[test]
    fn a_page_that_is_written_belongs_to_one_sequence_of_the_step() {
        let error = |page| {
            Err(format!("step buffer: page that one sequence writes and another one has is {page}, allowed: none"))
        };
        // The other sequence may have the page anywhere in its table, and may have no rows.
        let writer: (&[usize], &[&[u32]]) = (&[3, 4], &[&[0, 1], &[2, 3]]);
        let others: [(&[usize], &[&[u32]]); 3] =
            [(&[4], &[&[5, 2, 1], &[4, 5]]), (&[], &[&[1], &[4]]), (&[4, 5], &[&[5, 1], &[4, 5]])];
        for other in others {
            for seqs in [[writer, other], [other, writer]] {
                assert_eq!(checked(KvWrite, 0, &seqs, &[]), error(1));
                assert_eq!(checked(HistoryWrite, 0, &seqs, &[]), error(1));
                checked(KvWrite, 1, &seqs, &[]).unwrap();
            }
        }
        let in_group_1: (&[usize], &[&[u32]]) = (&[4], &[&[4, 5], &[6, 3]]);
        assert_eq!(checked(KvWrite, 1, &[in_group_1, writer], &[]), error(3));
        checked(KvWrite, 0, &[in_group_1, writer], &[]).unwrap();
        checked(HistoryWrite, 0, &[in_group_1, writer], &[]).unwrap();
    }

    #[test]
    fn pages_of_copies_are_in_the_cache_of_their_group() {
        let copy = |group, from, to| PageCopy { group, from, to, places: 1 };
        checked(KvCopy, 0, &[], &[copy(0, 7, 0), copy(1, 8, 1), copy(2, 99, 98)]).unwrap();
        let error = checked(KvCopy, 0, &[], &[copy(0, 8, 0)]).unwrap_err();
        assert_eq!(error, "step buffer: source page of a copy is 8, allowed: 7");
        let error = checked(KvCopy, 1, &[], &[copy(1, 8, 9)]).unwrap_err();
        assert_eq!(error, "step buffer: target page of a copy is 9, allowed: 8");
    }
}
