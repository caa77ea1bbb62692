//! The floors of the CPU engine as data, and which of them results meet.

use super::record::{Record, Test, What};

/// The reference of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Against {
    /// The result of llama.cpp in the same run, with its fastest options or with the named ones.
    LlamaCpp(Option<&'static str>),
    /// Inkstone's result of another test.
    Own(Test),
    /// The memory bandwidth in the same second.
    Read,
    /// The fastest integer dot product of the instruction set.
    Dot,
    /// The size of file and cache, and an allowance.
    Allowed,
}

/// Kinds of machine and states of memory that floors differ for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// AVX-512; also where the state does not matter.
    Slow,
    Fast,
    /// A machine that has AVX2 and no AVX-512.
    Avx2,
    /// AVX2 on a machine that has more.
    Avx2Forced,
}

pub const COLUMNS: [Column; 4] = [Column::Slow, Column::Fast, Column::Avx2, Column::Avx2Forced];

/// A row: at least (times: at most) the floor of each column that has one.
#[derive(Debug)]
pub struct Target {
    pub model: &'static str,
    pub test: Test,
    pub against: Against,
    /// In the order of [`COLUMNS`]; 0: none.
    floors: [f64; 4],
}

pub const LLAMA_Q4: &str = "llama-3.2-1b-q4_k_m";
pub const LLAMA_Q8: &str = "llama-3.2-1b-q8_0";
const LLAMA_Q6: &str = "llama-3.2-1b-q6_k";
pub const LLAMA_F16: &str = "llama-3.2-1b-f16";
const LLAMA_BF16: &str = "llama-3.2-1b-bf16";
const QWEN_Q4: &str = "qwen2.5-0.5b-q4_k_m";

pub const DECODE: Test = Test::decode(2, 0, 1);
pub const DEEP: Test = Test::decode(2, 4096, 1);
pub const EIGHT: Test = Test::decode(2, 0, 8);
const ALONE: Test = Test::decode(1, 0, 1);
pub const PROMPT: Test = Test::prefill(2, 512);
pub const FIRST: Test = Test::first(2, 16);
const BEST: Against = Against::LlamaCpp(None);

const fn row(model: &'static str, test: Test, against: Against, floors: [f64; 4]) -> Target {
    Target { model, test, against, floors }
}

pub static TARGETS: &[Target] = &[
    row(LLAMA_Q4, DECODE, BEST, [1.08, 1.6, 1.4, 1.4]),
    row(LLAMA_Q4, DECODE, Against::Read, [0.94, 0.91, 0.90, 0.0]),
    row(LLAMA_Q8, DECODE, BEST, [1.1, 1.8, 1.2, 1.2]),
    row(LLAMA_Q8, DECODE, Against::Read, [0.92, 0.90, 0.90, 0.0]),
    row(LLAMA_Q4, DEEP, BEST, [1.7, 2.3, 1.6, 1.6]),
    row(LLAMA_Q4, DEEP, Against::Own(DECODE), [0.75, 0.75, 0.75, 0.75]),
    row(LLAMA_F16, DECODE, BEST, [1.0, 1.25, 1.0, 1.0]),
    row(QWEN_Q4, DECODE, BEST, [1.45, 2.0, 1.4, 1.4]),
    row(LLAMA_Q4, PROMPT, BEST, [1.2, 0.0, 2.2, 2.0]),
    row(LLAMA_Q4, PROMPT, Against::Dot, [0.57, 0.0, 0.0, 0.0]),
    row(LLAMA_Q8, PROMPT, BEST, [2.7, 0.0, 1.8, 1.8]),
    row(LLAMA_Q6, PROMPT, BEST, [1.6, 0.0, 1.4, 1.4]),
    row(QWEN_Q4, PROMPT, BEST, [1.9, 0.0, 1.4, 1.4]),
    row(LLAMA_F16, PROMPT, BEST, [1.05, 0.0, 1.05, 1.05]),
    row(LLAMA_BF16, PROMPT, BEST, [1.05, 0.0, 1.05, 1.05]),
    row(LLAMA_Q4, EIGHT, BEST, [3.5, 3.5, 3.0, 3.0]),
    row(LLAMA_Q4, EIGHT, Against::Own(DECODE), [3.5, 2.4, 3.0, 3.0]),
    row(LLAMA_Q4, EIGHT, Against::Dot, [0.48, 0.48, 0.0, 0.0]),
    row(LLAMA_Q4, ALONE, BEST, [1.4, 0.0, 1.3, 1.3]),
    row(LLAMA_Q8, ALONE, BEST, [1.5, 0.0, 1.2, 1.2]),
    row(LLAMA_Q4, FIRST, Against::LlamaCpp(Some("llama-completion")), [0.4, 0.0, 0.4, 0.4]),
    row(LLAMA_Q4, FIRST, Against::LlamaCpp(Some("the library")), [0.6, 0.0, 0.6, 0.6]),
    row(LLAMA_Q4, Test::peak(2), Against::Allowed, [1.0, 0.0, 1.0, 1.0]),
    row(LLAMA_Q4, DECODE.under(2), Against::Own(DECODE), [0.4, 0.0, 0.4, 0.4]),
];

/// The state of a floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    Met(f64),
    NotMet(f64),
    /// No result of such a machine, state or test.
    NotMeasured,
}

impl Column {
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow => "AVX-512, slow or any state",
            Self::Fast => "AVX-512, fast state",
            Self::Avx2 => "AVX2 machine",
            Self::Avx2Forced => "AVX2 on an AVX-512 machine",
        }
    }

    /// Whether results of a machine of this name can belong here.
    pub fn is_of(self, machine: &str) -> bool {
        machine.contains("AVX-512 VNNI") == (self != Self::Avx2)
    }

    /// Whether a result belongs here.
    fn has(self, record: &Record) -> bool {
        let own = match self {
            Self::Slow => record.isa == "avx512" && record.state != "fast",
            Self::Fast => record.isa == "avx512" && record.state == "fast",
            Self::Avx2 | Self::Avx2Forced => record.isa == "avx2",
        };
        own && self.is_of(&record.machine)
    }
}

impl Target {
    pub fn floor(&self, column: Column) -> Option<f64> {
        Some(self.floors[column as usize]).filter(|floor| *floor > 0.0)
    }

    /// Whether less is better.
    pub fn is_most(&self) -> bool {
        matches!(self.test.what, What::First | What::Peak)
    }

    /// The latest result of a run against llama.cpp counts; against others fewer slices are timed.
    pub fn verdict(&self, column: Column, records: &[Record]) -> Verdict {
        let Some((floor, value)) = self.floor(column).zip(self.value(column, records)) else {
            return Verdict::NotMeasured;
        };
        let met = if self.is_most() { value <= floor } else { value >= floor };
        if met { Verdict::Met(value) } else { Verdict::NotMet(value) }
    }

    fn value(&self, column: Column, records: &[Record]) -> Option<f64> {
        let numerics = (self.model == LLAMA_BF16).then_some("fast");
        let latest = |test: Test, wanted: &dyn Fn(&Record) -> bool| {
            let alike = |r: &&Record| r.model == self.model && r.test == test && r.numerics.as_deref() == numerics;
            let of_test = |r: &&Record| alike(r) && !r.aside && column.has(r);
            records.iter().rev().filter(of_test).find(|r| wanted(r))
        };
        let llama_cpp = |r: &Record| r.peer.starts_with("llama.cpp");
        match self.against {
            Against::LlamaCpp(variant) => {
                let wanted = |r: &Record| llama_cpp(r) && variant.is_none_or(|v| r.variant == v);
                latest(self.test, &wanted).map(|r| r.ratio)
            }
            Against::Own(other) => {
                let [this, other] = [latest(self.test, &llama_cpp)?, latest(other, &llama_cpp)?];
                Some(this.ours.median / other.ours.median)
            }
            Against::Read => latest(self.test, &|r| llama_cpp(r) && r.share.is_some())?.share,
            Against::Allowed => {
                latest(self.test, &|r| r.allowed.is_some()).map(|r| r.ours.median / r.allowed.unwrap_or(0.0))
            }
            Against::Dot => latest(self.test, &|r| llama_cpp(r) && r.dot.is_some())?.dot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::record::Figure;

    fn record(test: Test, isa: &str, state: &str, ours: f64, ratio: f64) -> Record {
        let figure = Figure { median: ours, least: ours, most: ours, runs: 3 };
        Record {
            date: "2026-11-22".into(),
            commit: "abc".into(),
            machine: "X, AVX-512 VNNI, 2 cores".into(),
            isa: isa.into(),
            numerics: None,
            model: LLAMA_Q4.into(),
            test,
            state: state.into(),
            ours: figure.clone(),
            peer: "llama.cpp (x)".into(),
            variant: "repack".into(),
            theirs: figure,
            ratio,
            read: None,
            share: None,
            dot: None,
            allowed: None,
            aside: false,
        }
    }

    fn verdict(test: Test, against: Against, column: Column, records: &[Record]) -> Verdict {
        let target = TARGETS.iter().find(|t| t.model == LLAMA_Q4 && t.test == test && t.against == against);
        target.unwrap().verdict(column, records)
    }

    #[test]
    fn the_latest_result_of_its_own_column_counts() {
        let mut records = vec![
            record(DECODE, "avx512", "slow", 45.0, 1.05),
            record(DECODE, "avx512", "slow", 46.0, 1.09),
            record(DECODE, "avx512", "fast", 70.0, 1.5),
        ];
        records.push(Record { aside: true, ..record(DECODE, "avx512", "slow", 46.0, 0.5) });
        assert_eq!(verdict(DECODE, BEST, Column::Slow, &records), Verdict::Met(1.09));
        assert_eq!(verdict(DECODE, BEST, Column::Fast, &records), Verdict::NotMet(1.5));
        assert_eq!(verdict(DECODE, BEST, Column::Avx2, &records), Verdict::NotMeasured);
        assert_eq!(verdict(DECODE, BEST, Column::Avx2Forced, &records), Verdict::NotMeasured);
        records.push(record(DEEP, "avx512", "fast", 35.0, 2.4));
        assert_eq!(verdict(DEEP, Against::Own(DECODE), Column::Fast, &records), Verdict::NotMet(0.5));
        assert_eq!(verdict(DEEP, Against::Own(DECODE), Column::Slow, &records), Verdict::NotMeasured);
    }

    #[test]
    fn runs_against_other_peers_say_nothing() {
        let against = |peer: &str, share| {
            let run = record(DECODE, "avx512", "slow", 45.0, 1.09);
            Record { peer: peer.into(), share: Some(share), ..run }
        };
        let records = [against("llama.cpp (x)", 0.95), against("another", 0.5)];
        assert_eq!(verdict(DECODE, Against::Read, Column::Slow, &records), Verdict::Met(0.95));
    }

    #[test]
    fn a_time_may_be_at_most_its_floor() {
        let mut record = record(FIRST, "avx512", "any", 0.3, 0.39);
        record.variant = "llama-completion".into();
        let against = Against::LlamaCpp(Some("llama-completion"));
        assert_eq!(verdict(FIRST, against, Column::Slow, std::slice::from_ref(&record)), Verdict::Met(0.39));
        record.ratio = 0.41;
        assert_eq!(verdict(FIRST, against, Column::Slow, &[record]), Verdict::NotMet(0.41));
    }
}
