//! Sampling on the device.

use inkstone_tensor::sampling::{ChainRef, StageRef};

/// Whether the kernel takes a chain.
pub fn draws(chain: ChainRef) -> bool {
    let mut last = 0;
    chain.into_iter().all(|stage| {
        let (rank, takes) = match stage {
            StageRef::Bias(_) => (1, true),
            StageRef::Ban(_) => (2, true),
            StageRef::MinTokens { .. } => (3, true),
            StageRef::Repetition { penalty, .. } => (4, (PENALTY.0..=PENALTY.1).contains(&penalty)),
            StageRef::Frequency(x) => (5, is_moderate(x)),
            StageRef::Presence(x) => (6, is_moderate(x)),
            StageRef::NoRepeatNgram(_) => (7, false),
            StageRef::Temperature(x) => (8, is_moderate(x)),
            StageRef::TopK(_) => (9, true),
            StageRef::TypicalP(_) => (10, false),
            StageRef::TopP(x) => (11, is_moderate(x)),
            StageRef::MinP(x) => (12, is_moderate(x)),
            _ => (13, false),
        };
        let is_next = rank > std::mem::replace(&mut last, rank);
        is_next && (takes || stage.is_neutral())
    })
}

/// 2^-20 and 2^20.
const PENALTY: (f64, f64) = (1.0 / 1_048_576.0, 1_048_576.0);

/// 2^40.
const MODERATE: f64 = 1_099_511_627_776.0;

fn is_moderate(x: f64) -> bool {
    x == 0.0 || (1.0 / MODERATE..=MODERATE).contains(&x.abs())
}
