//! The rows of a head in a cache, in place and as floats.

use super::attend::BLOCK;
use crate::isa::{Floats, LANES};
use crate::memory::{HeadRows, Run};
use crate::tile::Places;
use inkstone_tensor::step::StepError;
use inkstone_tensor::{DType, Visible};
use std::ops::Range;

/// The encoded rows of one block of positions of a head: keys and values, in runs of places that follow each other.
pub(super) struct BlockRows<'a> {
    runs: [[Run<'a>; BLOCK]; 2],
    /// How many runs there are.
    count: usize,
}

impl<'a> BlockRows<'a> {
    /// None.
    pub(super) fn none() -> BlockRows<'a> {
        BlockRows { runs: [[Run::none(); BLOCK]; 2], count: 0 }
    }

    /// Of the block that begins at `begin`, the positions that are seen, which are distances from there. In place of the hidden
    /// positions between them, whose pages may be gone, stands the position behind them, again and again.
    pub(super) fn find(
        &mut self,
        caches: [&HeadRows<'a>; 2],
        places: &Places,
        begin: usize,
        seen: Visible,
    ) -> Result<(), StepError> {
        self.count = 0;
        self.add(caches, places, begin..begin + seen.first)?;
        let hidden = seen.from - seen.first;
        if hidden > 0 {
            let place = places.at(begin + seen.from)?;
            self.push(caches, |cache| cache.run(place..place + 1).repeated(hidden));
        }
        self.add(caches, places, begin + seen.from..begin + seen.end)
    }

    fn add(&mut self, caches: [&HeadRows<'a>; 2], places: &Places, positions: Range<usize>) -> Result<(), StepError> {
        let mut position = positions.start;
        while position < positions.end {
            let run = places.run(position, positions.end - position)?;
            position += run.len();
            self.push(caches, |cache| cache.run(run.clone()));
        }
        Ok(())
    }

    fn push(&mut self, caches: [&HeadRows<'a>; 2], run: impl Fn(&HeadRows<'a>) -> Run<'a>) {
        for (runs, cache) in self.runs.iter_mut().zip(caches) {
            runs[self.count] = run(cache);
        }
        self.count += 1;
    }

    pub(super) fn keys(&self) -> &[Run<'a>] {
        &self.runs[0][..self.count]
    }

    pub(super) fn values(&self) -> &[Run<'a>] {
        &self.runs[1][..self.count]
    }
}

/// All rows of the runs, if they are contiguous.
pub(super) fn together<'a>(runs: &[Run<'a>]) -> Option<&'a [u8]> {
    if let [run] = runs { run.together() } else { None }
}

/// Some rows of the runs, if they belong to one run and are contiguous.
pub(super) fn part_together<'a>(runs: &[Run<'a>], rows: Range<usize>) -> Option<&'a [u8]> {
    let mut first = 0;
    for run in runs {
        if rows.start < first + run.len() {
            let bytes = run.row_bytes();
            return run.together()?.get((rows.start - first) * bytes..(rows.end - first) * bytes);
        }
        first += run.len();
    }
    None
}

/// The rows of runs, one after the other.
pub(super) fn rows<'a>(runs: &[Run<'a>]) -> impl Iterator<Item = &'a [u8]> {
    runs.iter().flat_map(Run::rows)
}

/// A row of a head as floats. Floats of 16 and 32 bits are converted with vectors; rows of any other dtype, which begin
/// `skip` values before the head, are decoded into `room`.
#[inline(always)]
pub(super) fn decode<I: Floats>(isa: I, dtype: DType, row: &[u8], skip: usize, room: &mut [f32], out: &mut [f32]) {
    match dtype {
        DType::F32 => bytemuck::cast_slice_mut(out).copy_from_slice(row),
        DType::F16 => widen::<I, true>(isa, row, out),
        DType::BF16 => widen::<I, false>(isa, row, out),
        dtype => {
            let info = dtype.info();
            let decode = info.decode.expect("operands other than words can be decoded, as infer checks");
            decode(row, &mut room[..row.len() / info.block_bytes * info.block]);
            out.copy_from_slice(&room[skip..][..out.len()]);
        }
    }
}

/// Numbers of half precision, or upper halves of floats, as floats.
#[inline(always)]
fn widen<I: Floats, const HALF: bool>(isa: I, bytes: &[u8], out: &mut [f32]) {
    let (whole, rest) = bytes.as_chunks();
    for (i, part) in whole.iter().enumerate() {
        isa.put(out, i, if HALF { isa.halves(part) } else { isa.upper_halves(part) });
    }
    if !rest.is_empty() {
        let mut part = [0; 2 * LANES];
        part[..rest.len()].copy_from_slice(rest);
        isa.put(out, whole.len(), if HALF { isa.halves(&part) } else { isa.upper_halves(&part) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_run_are_found_together_and_those_of_two_are_not() {
        let memory: Vec<u8> = (0..200).collect();
        let runs = [0..16, 16..20, 20..100].map(|rows: Range<usize>| Run::of(&memory[2 * rows.start..2 * rows.end], 2));
        let together = |rows: Range<usize>| part_together(&runs, rows);
        for rows in [0..16, 3..10, 16..20, 17..18, 20..36, 30..62, 84..100] {
            assert_eq!(together(rows.clone()), Some(&memory[2 * rows.start..2 * rows.end]), "{rows:?}");
        }
        for rows in [15..17, 0..20, 16..32, 90..101, 100..116] {
            assert_eq!(together(rows.clone()), None, "{rows:?}");
        }
    }
}
