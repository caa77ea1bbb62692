//! Weights of a mapped file that memory does not hold: the first of them are locked, the rest is asked for ahead of the
//! steps that read it.
//!
//! Plans read their weights in the same order each time. A system that gives up what was used longest ago would give up
//! just what is needed next, so that every step would read the whole file again. What is locked is never read again, and
//! of the rest no more than a window is under way.

use crate::weights::Held;
use inkstone_compute::{Error, Plan, Region, Result, Step};
use inkstone_tensor::{Dim, Progress, Resident, Sizes};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are asked for at once.
const PIECE: usize = 1 << 20;
/// Bytes that are locked at once: between them loading can end.
const LOCKED: usize = 16 << 20;
/// Most bytes that are asked for ahead of what is read.
const AHEAD: usize = 128 << 20;

/// What of the weights is where.
pub(crate) struct Stream {
    file: Arc<dyn Resident>,
    /// By weight: its bytes in the file, if they are not locked.
    free: Vec<Option<Range<usize>>>,
    ahead: usize,
    /// Bytes of the others.
    pub(crate) locked: u64,
}

impl Stream {
    /// Locks what half of the memory holds, unless three quarters hold everything: caches and the window have the rest.
    pub(crate) fn new(
        file: Option<Arc<dyn Resident>>,
        held: &[Held],
        memory: u64,
        progress: &dyn Progress,
    ) -> Result<Option<Stream>> {
        let free: Vec<Option<Range<usize>>> = held.iter().map(Held::in_file).collect();
        let total: usize = free.iter().flatten().map(Range::len).sum();
        let Some(file) = file.filter(|_| total as u64 > memory / 4 * 3) else { return Ok(None) };
        let room = usize::try_from(memory / 2).unwrap_or(usize::MAX);
        let ahead = (room / 4).clamp(PIECE, AHEAD);
        let mut stream = Stream { file, free, ahead, locked: 0 };
        for id in 0..stream.free.len() {
            let Some(bytes) = stream.free[id].clone() else { continue };
            let (first, rest) = split(bytes, room - stream.locked as usize);
            if first.is_empty() || !stream.lock(first.clone(), progress)? {
                break;
            }
            stream.locked += first.len() as u64;
            stream.free[id] = (!rest.is_empty()).then_some(rest);
        }
        Ok(Some(stream))
    }

    /// False if the system does not allow it.
    fn lock(&self, bytes: Range<usize>, progress: &dyn Progress) -> Result<bool> {
        self.file.ask(bytes.clone());
        for start in bytes.clone().step_by(LOCKED) {
            if progress.cancelled() {
                return Err(Error::Cancelled);
            }
            if !self.file.lock(start..bytes.end.min(start + LOCKED)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Bytes that are read from the file again and again.
    pub(crate) fn streamed(&self) -> u64 {
        self.free.iter().flatten().map(|bytes| bytes.len() as u64).sum()
    }
}

/// The first `len` bytes, or all, and the others.
fn split(bytes: Range<usize>, len: usize) -> (Range<usize>, Range<usize>) {
    let at = bytes.end.min(bytes.start.saturating_add(len));
    (bytes.start..at, at..bytes.end)
}

/// What the tiles of a plan ask for: the weights that its steps read, as one sequence that begins again at its end.
pub(crate) struct Asks {
    file: Arc<dyn Resident>,
    /// Where each part begins in the sequence, and its bytes in the file.
    parts: Vec<(usize, Range<usize>)>,
    total: usize,
    /// What of the sequence each step reads.
    steps: Vec<Range<usize>>,
    ahead: usize,
}

impl Asks {
    /// Of a plan on weights that are streamed.
    pub(crate) fn new(stream: &Stream, plan: &Plan) -> Asks {
        let (mut parts, mut total) = (Vec::new(), 0);
        let steps = plan.steps.iter().map(|step| {
            let start = total;
            for bytes in matrices(step).filter_map(|id| stream.free.get(id)?.clone()) {
                let len = bytes.len();
                parts.push((total, bytes));
                total += len;
            }
            start..total
        });
        let steps = steps.collect();
        Asks { file: stream.file.clone(), parts, total, steps, ahead: stream.ahead }
    }

    /// Asks for what lies ahead of the share that tiles have of their step, so that all tiles ask for all.
    pub(crate) fn tiles(&self, plan: &Plan, step: usize, tiles: &Range<usize>, sizes: &Sizes) {
        let Some(bytes) = self.steps.get(step).filter(|bytes| !bytes.is_empty()) else { return };
        let all = plan.steps[step].grid.tiles(sizes).max(1);
        let at = |tile: usize| (bytes.start + bytes.len() * tile / all + self.ahead) / PIECE;
        for piece in at(tiles.start)..at(tiles.end) {
            let start = piece % self.total.div_ceil(PIECE) * PIECE;
            self.ask(start..self.total.min(start + PIECE));
        }
    }

    /// Asks for a part of the sequence, which lies in several places of the file.
    fn ask(&self, bytes: Range<usize>) {
        let first = self.parts.partition_point(|(start, part)| start + part.len() <= bytes.start);
        for (start, part) in self.parts.iter().skip(first).take_while(|(start, _)| *start < bytes.end) {
            let from = part.start + bytes.start.saturating_sub(*start);
            self.file.ask(from..part.end.min(part.start + (bytes.end - start)));
        }
    }
}

/// The weights that a step reads as a whole: matrices of which it does not look up rows.
fn matrices(step: &Step) -> impl Iterator<Item = usize> {
    let args = step.ins().filter(|_| step.op.name() != "embed");
    args.filter_map(|a| match a.region {
        Region::Weight(id) if a.ty.rows != Dim::N(1) => Some(id as usize),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Writes down what is asked for.
    #[derive(Default)]
    struct Asked(Mutex<Vec<Range<usize>>>);

    impl Resident for Asked {
        fn ask(&self, bytes: Range<usize>) {
            self.0.lock().unwrap().push(bytes);
        }
        fn lock(&self, _: Range<usize>) -> bool {
            true
        }
    }

    #[test]
    fn parts_of_the_sequence_are_asked_for_where_they_lie() {
        let file = Arc::new(Asked::default());
        let parts = vec![(0, 1000..1010), (10, 50..55), (15, 2000..2100)];
        let asks = Asks { file: file.clone(), parts, total: 115, steps: Vec::new(), ahead: 0 };
        let wanted: [(_, &[Range<usize>]); 4] = [
            (0..115, &[1000..1010, 50..55, 2000..2100]),
            (3..12, &[1003..1010, 50..52]),
            (10..16, &[50..55, 2000..2001]),
            (14..115, &[54..55, 2000..2100]),
        ];
        for (bytes, wanted) in wanted {
            asks.ask(bytes);
            assert_eq!(std::mem::take(&mut *file.0.lock().unwrap()), wanted);
        }
    }
}
