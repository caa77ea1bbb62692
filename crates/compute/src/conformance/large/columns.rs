//! The columns of results that are compared: the definition computes only these.

use super::super::regions::Cols;
use super::super::values::Random;
use inkstone_tensor::{Array, Dim, Sizes, Type};

/// Columns of a result that are compared, in groups of [`GROUP`]: of up to eight rows, and of more.
pub(super) const SAMPLED: [usize; 2] = [160, 64];
/// Neighbouring columns: a block of every format of results.
pub(super) const GROUP: usize = 32;
/// Rows of a matrix that differ; the others repeat them, because so many random values would take long. It is prime, so that
/// rows of panels and tiles differ.
pub(super) const DISTINCT: usize = 61;
/// The same with fewer columns of results.
pub(super) fn sampled(cols: Cols, rows: usize) -> Cols {
    let few = SAMPLED[usize::from(rows > 8)];
    Cols { x: cols.x, outs: cols.outs.map(|n| n.min(few)), encoded: cols.encoded.min(few) }
}

/// The columns of `of` that are compared if only `few` are: groups from the first to the last.
pub(super) fn columns(of: usize, few: usize) -> Vec<usize> {
    let (groups, last) = (few / GROUP, of / GROUP - 1);
    if few == of || groups < 2 {
        return (0..few).collect();
    }
    (0..groups).flat_map(|i| (0..GROUP).map(move |c| i * last / (groups - 1) * GROUP + c)).collect()
}

/// A matrix with only these columns, which are whole blocks.
pub(super) fn with_columns(array: &Array, columns: &[usize]) -> Array {
    let (block, bytes) = (array.dtype().block(), array.dtype().block_bytes());
    let row = |r| {
        let row = array.row_bytes_of(r);
        columns.iter().step_by(block).flat_map(move |c| row[c / block * bytes..][..bytes].iter().copied())
    };
    let all: Vec<u8> = (0..array.rows()).flat_map(row).collect();
    Array::from_bytes(array.dtype(), columns.len(), &all).expect("whole blocks")
}

/// A matrix with only these rows.
pub(super) fn with_rows(array: &Array, rows: &[usize]) -> Array {
    let all: Vec<&[u8]> = rows.iter().map(|r| array.row_bytes_of(*r)).collect();
    Array::from_bytes(array.dtype(), array.cols(), &all.concat()).expect("whole rows")
}

/// A matrix of random rows, which repeat.
pub(super) fn matrix(ty: &Type, random: &mut Random) -> Array {
    let rows = ty.rows.at(&Sizes::default());
    let few = random.array(&Type { rows: Dim::N(rows.min(DISTINCT)), ..*ty }, &Sizes::default());
    with_rows(&few, &(0..rows).map(|r| r % DISTINCT).collect::<Vec<_>>())
}

/// The part of an operand that a case of fewer columns has.
pub(super) fn part(value: &Array, few: &Type) -> Array {
    match few.rows {
        Dim::N(rows) if rows != value.rows() => with_rows(value, &columns(value.rows(), rows)),
        _ if few.cols != value.cols() => with_columns(value, &columns(value.cols(), few.cols)),
        _ => value.clone(),
    }
}
