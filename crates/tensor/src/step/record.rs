//! Records: the result of `sample` for a row, in four bytes. Errors use the same word as tokens.

use super::{NONE, TOKENS_END};
use crate::sampling::SampleError;

/// The logits of the row were NaN.
const NAN_LOGITS: u32 = u32::MAX - 1;
/// Working memory could not be had.
const NO_MEMORY: u32 = u32::MAX - 2;
/// The words of the sampling chain can't be read.
const BAD_CHAIN: u32 = u32::MAX - 3;
/// The candidates were closer than the error of the device's logits.
const HOST: u32 = u32::MAX - 4;
/// No token was left after the i-th of [`STAGES`]: this minus i.
const EMPTY: u32 = u32::MAX - 16;

/// Stages after which no token may be left.
static STAGES: [&str; 14] = [
    "logits",
    "logit bias",
    "banned tokens",
    "min tokens",
    "repetition penalty",
    "frequency penalty",
    "presence penalty",
    "no-repeat n-gram",
    "temperature",
    "top-k",
    "typical-p",
    "top-p",
    "min-p",
    "draw",
];

/// The meaning of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// This token was drawn.
    Token(u32),
    /// Nothing was to be drawn.
    None,
    /// The logits of the row were NaN.
    NanLogits,
    /// No token was left after this stage.
    Empty(&'static str),
    /// Working memory could not be had.
    NoMemory,
    /// The words of the sampling chain can't be read.
    BadChain,
    /// The kernel can't decide: candidates are closer than its error bound. The host draws from the logits of the row, with
    /// the same index. A kernel says so only where the definition has a token or a status.
    Host,
}

impl Record {
    /// From its word.
    pub fn decode(word: u32) -> Record {
        match word {
            token if token < TOKENS_END => Record::Token(token),
            NONE => Record::None,
            NAN_LOGITS => Record::NanLogits,
            NO_MEMORY => Record::NoMemory,
            HOST => Record::Host,
            empty if empty <= EMPTY => Record::Empty(STAGES.get((EMPTY - empty) as usize).copied().unwrap_or("draw")),
            _ => Record::BadChain,
        }
    }

    /// To its word.
    pub fn encode(self) -> u32 {
        match self {
            Record::Token(token) => token,
            Record::None => NONE,
            Record::NanLogits => NAN_LOGITS,
            Record::NoMemory => NO_MEMORY,
            Record::BadChain => BAD_CHAIN,
            Record::Host => HOST,
            Record::Empty(stage) => EMPTY - STAGES.iter().position(|s| *s == stage).unwrap_or(STAGES.len() - 1) as u32,
        }
    }
}

impl From<SampleError> for Record {
    fn from(error: SampleError) -> Record {
        match error {
            SampleError::NanLogits => Record::NanLogits,
            SampleError::Empty { stage } => Record::Empty(stage),
            SampleError::NoMemory { .. } => Record::NoMemory,
            SampleError::Token { .. } => Record::BadChain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::{Chain, Stage};

    #[test]
    fn records_survive_their_word() {
        let stages = STAGES.iter().map(|s| Record::Empty(s));
        let others =
            [Record::Token(0), Record::Token(TOKENS_END - 1), Record::None, Record::NanLogits, Record::NoMemory];
        for record in stages.chain(others).chain([Record::BadChain, Record::Host]) {
            assert_eq!(Record::decode(record.encode()), record);
        }
    }

    #[test]
    fn every_stage_that_can_empty_a_set_has_a_name_here() {
        let list = [
            Stage::Bias(vec![]),
            Stage::Ban(vec![]),
            Stage::MinTokens { tokens: 1, ids: vec![] },
            Stage::Repetition { penalty: 2.0, last_n: None },
            Stage::Frequency(1.0),
            Stage::Presence(1.0),
            Stage::NoRepeatNgram(2),
            Stage::Temperature(2.0),
            Stage::TopK(1),
            Stage::TypicalP(0.5),
            Stage::TopP(0.5),
            Stage::MinP(0.5),
        ];
        for stage in &Chain(list.to_vec()) {
            assert!(STAGES.contains(&stage.name()), "{}", stage.name());
        }
    }
}
