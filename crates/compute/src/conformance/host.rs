//! Draws that a kernel leaves to the host: it may say so instead of a token or a status.

use inkstone_tensor::step::record::Record;
use inkstone_tensor::{Array, Op};

/// Puts the results of the definition in the place of the draws that a kernel of this op left to the host, so that the
/// other results can be compared. Returns their number.
pub(super) fn settle(op: &Op, expected: &[Array], found: &mut [Array]) -> usize {
    let (Op::Sample(_), [expected], [found]) = (op, expected, found) else { return 0 };
    settle_records(expected, found)
}

/// The same for the records of a step. A row that draws nothing has no draw to leave.
pub(super) fn settle_records(expected: &Array, found: &mut Array) -> usize {
    let left = |(expected, found): (&u32, &mut u32)| {
        let left = *found == Record::Host.encode() && Record::decode(*expected) != Record::None;
        if left {
            *found = *expected;
        }
        left
    };
    expected.all::<u32>().iter().zip(found.all_mut::<u32>()).map(left).filter(|left| *left).count()
}
