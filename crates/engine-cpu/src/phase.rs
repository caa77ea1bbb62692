//! Kernels with a first phase: tiles that run before the tiles of a step and leave their results in its scratch, for all
//! workers. This defines which words of the scratch belong to which tile; the views are made in `program`.

use crate::memory::View;
use crate::scratch::Scratch;
use crate::tile::Entry;
use inkstone_compute::{Caps, Error, Kernel, Result, Shape, Step};
use inkstone_tensor::step::{StepError, StepView};
use inkstone_tensor::{Op, Sizes, Type};
use smallvec::SmallVec;
use std::ops::Range;

/// Sections begin at multiples of so many words: at cache lines.
const ALIGN: usize = 16;

/// The entry of a kernel whose steps may have a first phase, in place of an [`Entry`]. [`Kernel::work`](Kernel) decides
/// which steps have one.
#[derive(Clone, Copy)]
pub struct Phased {
    /// How the scratch of a step is divided.
    pub sections: fn(&Shape) -> Sections,
    /// Computes a tile of the first phase.
    pub first: fn(&mut FirstTile) -> Result<(), StepError>,
    /// Computes a tile of the step, which finds the sections in [`Tile::shared`](crate::Tile::shared).
    pub then: Entry,
}

/// The code of a kernel.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    /// Of a tile of the step.
    pub(crate) entry: Entry,
    /// Of its first phase, if it may have one.
    pub(crate) phased: Option<Phased>,
}

impl Code {
    pub(crate) fn of(kernel: &Kernel) -> Result<Code> {
        if let Some(entry) = kernel.entry.downcast_ref() {
            return Ok(Code { entry: *entry, phased: None });
        }
        let Some(phased) = kernel.entry.downcast_ref::<Phased>() else { return Err(Code::none(kernel.name)) };
        Ok(Code { entry: phased.then, phased: Some(*phased) })
    }

    /// A kernel has none that this engine can call.
    pub(crate) fn none(kernel: &str) -> Error {
        let (kernel, engine) = (kernel.to_owned(), crate::Cpu::NAME.to_owned());
        Error::KernelEntry { kernel, engine, expected: "an inkstone_engine_cpu::Entry or Phased" }
    }
}

/// The sections of a step in plans of this bucket.
pub(crate) fn sections(phased: &Phased, step: &Step, bucket: &Sizes, caps: &Caps) -> Sections {
    let ins: Vec<Type> = step.ins().map(|a| a.ty).collect();
    let outs: Vec<Type> = step.outs().map(|a| a.ty).collect();
    (phased.sections)(&Shape::new(&step.op, &ins, &outs, bucket, caps))
}

/// A tile of a first phase under way.
pub struct FirstTile<'a, 'm> {
    /// The op of the step.
    pub op: &'a Op,
    /// The step of the model.
    pub step: &'a StepView<'a>,
    /// Its true sizes.
    pub sizes: Sizes,
    /// The rows of the tile, in the dimension that the grid cuts.
    pub rows: Range<usize>,
    /// Its block of columns.
    pub block: usize,
    /// The operands, with all rows of the step. Operands that the step consumes have no rows here.
    pub ins: &'a [View<'a>],
    /// The part of each section that the tile writes.
    pub parts: &'a mut [&'m mut [u32]],
    /// Memory of the worker.
    pub scratch: &'a mut Scratch,
}

/// A part of a step's scratch: some words for each row of the step. Blocks of columns are stored one after the other,
/// each with all rows, row after row: so a tile of a first phase, which has some rows of one block, owns words that
/// follow each other. The last block may have fewer columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Words of a row.
    pub words: usize,
    /// Words of a row in a block of columns.
    pub block: usize,
}

/// The sections of a step's scratch, in their order.
pub type Sections = SmallVec<[Section; 2]>;

impl Section {
    /// A section without blocks of columns.
    pub const fn of(words: usize) -> Section {
        Section { words, block: words }
    }

    /// The bytes that sections take in a step of so many rows: [`Work::scratch`](inkstone_compute::Work).
    pub fn bytes(sections: &[Section], rows: usize) -> u64 {
        sections.iter().fold(0, |bytes, section| bytes.saturating_add(section.bytes_of(rows)))
    }

    /// Bytes from its begin to the begin of the next one.
    fn bytes_of(self, rows: usize) -> u64 {
        let words = self.words.saturating_mul(rows).div_ceil(ALIGN).saturating_mul(ALIGN);
        (words as u64).saturating_mul(4)
    }

    /// Where each section begins, in bytes, with its words.
    pub(crate) fn places(sections: &[Section], rows: usize) -> impl Iterator<Item = (Section, u64)> {
        sections.iter().scan(0u64, move |next, section| {
            let at = *next;
            *next = at.saturating_add(section.bytes_of(rows));
            Some((*section, at))
        })
    }

    /// Blocks of columns.
    pub(crate) fn blocks(self) -> usize {
        self.words.div_ceil(self.block.max(1)).max(1)
    }

    /// The words that the tile with these rows of `count` and this block of columns owns.
    pub(crate) fn part(self, count: usize, rows: Range<usize>, block: usize) -> Range<usize> {
        let start = block.saturating_mul(self.block).min(self.words);
        let width = self.block.min(self.words - start);
        count * start + rows.start * width..count * start + rows.end * width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_all_tiles_make_up_a_section() {
        for (words, block) in [(1, 1), (7, 3), (6, 3), (4, 9)] {
            let section = Section { words, block };
            let (count, mut seen) = (5, vec![0; 5 * words]);
            for block in 0..section.blocks() {
                for rows in [0..2, 2..4, 4..5] {
                    section.part(count, rows, block).for_each(|word| seen[word] += 1);
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{section:?}: {seen:?}");
            assert!(section.part(count, 0..count, section.blocks()).is_empty(), "{section:?}");
        }
    }

    #[test]
    fn sections_begin_at_lines() {
        let sections = [Section::of(5), Section { words: 40, block: 8 }];
        let places: Vec<(Section, u64)> = Section::places(&sections, 7).collect();
        assert_eq!(places, [(sections[0], 0), (sections[1], 192)]);
        assert_eq!(Section::bytes(&sections, 7), 192 + 1152);
        assert_eq!(Section::bytes(&[Section::of(usize::MAX), Section::of(1)], 2), u64::MAX);
    }
}
