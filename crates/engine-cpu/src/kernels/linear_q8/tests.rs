use super::shared::Column;
use crate::isa::{Ahead, Cache, STREAMS};

/// A panel prefetches its own next bytes, and near its end the beginning of its successor, with three other panels in
/// between.
#[test]
fn behind_a_panel_the_next_in_its_place_is_asked_for() {
    let panels = vec![0; STREAMS * 1_000];
    let ahead = Ahead { bytes: 300, into: Cache::Once };
    let column = |at| Column { panels: &panels, count: STREAMS, length: 1_000, at, size: 250, ahead };
    assert_eq!([column(0).ahead(0), column(500).ahead(199)], [ahead; 2]);
    assert_eq!([column(500).ahead(200).bytes, column(750).ahead(249).bytes], [3_300; 2]);
    let one = Column { count: 1, length: 4_000, ..column(3_750) };
    assert_eq!(one.ahead(0), ahead);
}
