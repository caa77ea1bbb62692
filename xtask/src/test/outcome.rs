//! The outcome of a stage, parsed from the output of test runners.

use std::fmt;
use std::ops::AddAssign;

/// Counts of tests, or of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl AddAssign for Tests {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    /// With the reason, or the program's output.
    Failed(String),
    /// With what is missing, in one line.
    Skipped(String),
}

impl Verdict {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed(_) => "FAIL",
            Self::Skipped(_) => "skip",
        }
    }
}

#[derive(Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    pub tests: Tests,
    /// Notes that the summary lists in addition to skips.
    pub notes: Vec<String>,
}

/// How tests say that something outside the project is missing: data, or an instruction set. Such a test passes.
const NOTES: &[&str] = &["not present: ", "not on this cpu: "];

impl Outcome {
    pub fn passed() -> Self {
        Self { verdict: Verdict::Passed, tests: Tests::default(), notes: Vec::new() }
    }

    pub fn failed(why: String) -> Self {
        Self { verdict: Verdict::Failed(why), ..Self::passed() }
    }

    pub fn skipped(why: String) -> Self {
        Self { verdict: Verdict::Skipped(why), ..Self::passed() }
    }

    /// Counts skips as failures, for continuous integration.
    pub fn without_skips(mut self) -> Self {
        self.tests.failed += std::mem::take(&mut self.tests.skipped);
        match self.verdict {
            Verdict::Skipped(why) => {
                self.verdict = Verdict::Failed(format!("{why}: a skip is a failure where CI=true"))
            }
            Verdict::Passed if self.tests.failed > 0 => {
                self.verdict = Verdict::Failed("skipped tests are failures where CI=true".to_owned());
            }
            _ => {}
        }
        self
    }

    /// The text after the time on the line of a stage.
    pub fn detail(&self) -> String {
        match (&self.verdict, self.tests) {
            (Verdict::Skipped(why), _) => format!("   {why}"),
            (_, tests) if tests == Tests::default() => String::new(),
            (_, tests) => format!("   {tests}"),
        }
    }

    /// Adds the tests and the notes that `output` of cargo test or cargo nextest reports.
    pub fn read(&mut self, output: &str) {
        let of_nextest = |line: &str| line.starts_with("Summary [");
        // nextest shows what each test wrote, and with it the results of test programs that it ran for one test each.
        let nextest = output.lines().map(str::trim).any(of_nextest);
        let mut elsewhere = 0;
        for line in output.lines().map(str::trim) {
            if of_nextest(line)
                && let Some((_, counts)) = line.split_once("run: ")
            {
                self.count(counts, ',');
            } else if !nextest
                && let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
            {
                self.count(counts, ';');
            } else if NOTES.iter().any(|note| line.starts_with(note)) && !self.notes.iter().any(|n| n == line) {
                self.notes.push(line.to_owned());
            }
            elsewhere += u64::from(runs_elsewhere(line));
        }
        self.tests.skipped = self.tests.skipped.saturating_sub(elsewhere);
    }

    /// `9 passed, 1 failed, 2 skipped` and the like.
    fn count(&mut self, counts: &str, separator: char) {
        for part in counts.split(separator) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word)) = (words.next().and_then(|n| n.parse::<u64>().ok()), words.next()) else {
                continue;
            };
            match word {
                "passed" => self.tests.passed += number,
                "failed" | "timed" | "exec" => self.tests.failed += number,
                "ignored" | "skipped" => self.tests.skipped += number,
                _ => {}
            }
        }
    }
}

/// Whether a line names a test that is left out because another command of xtask runs it: stage `wgpu` runs those in a module
/// of this name. cargo test prints the reason of a test that is ignored, nextest only its name.
fn runs_elsewhere(line: &str) -> bool {
    let of_cargo = line.starts_with("test ") && line.contains(" ... ignored, ") && line.contains("cargo xtask ");
    of_cargo || line.starts_with("SKIP [") && line.contains("wgpu::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Outcome {
        let mut outcome = Outcome::passed();
        outcome.read(output);
        outcome
    }

    #[test]
    fn counts_of_cargo_test_add_up() {
        let outcome = read(
            "test a ... ok\n\
             test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.01s\n",
        );
        assert_eq!(outcome.tests, Tests { passed: 5, failed: 1, skipped: 1 });
    }

    #[test]
    fn counts_of_nextest_are_read() {
        let outcome =
            read("     Summary [   1.250s] 12 tests run: 9 passed (1 slow), 2 failed, 1 timed out, 4 skipped\n");
        assert_eq!(outcome.tests, Tests { passed: 9, failed: 3, skipped: 4 });
        let outcome = read("     Summary [   0.004s] 1 test run: 1 passed, 0 skipped\n");
        assert_eq!(outcome.tests, Tests { passed: 1, failed: 0, skipped: 0 });
    }

    #[test]
    fn tests_of_another_stage_are_not_skipped() {
        let outcome = read(
            "test wgpu::a ... ignored, needs a driver: cargo xtask test wgpu\n\
             test b ... ignored\n\
             test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured\n",
        );
        assert_eq!(outcome.tests, Tests { passed: 1, failed: 0, skipped: 1 });
        let outcome = read(
            "SKIP [         ] (─────) inkstone-tests::engines threads::wgpu::a\n\
             SKIP [         ] (─────) inkstone-tests::engines threads::b\n\
             Summary [   0.004s] 1 test run: 1 passed, 2 skipped\n",
        );
        assert_eq!(outcome.tests, Tests { passed: 1, failed: 0, skipped: 1 });
    }

    #[test]
    fn results_that_nextest_repeats_are_not_counted_twice() {
        let outcome = read(
            "    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s\n\
             Summary [   0.004s] 2 tests run: 2 passed, 0 skipped\n",
        );
        assert_eq!(outcome.tests, Tests { passed: 2, failed: 0, skipped: 0 });
    }

    #[test]
    fn what_is_not_present_is_noted_once() {
        let outcome =
            read("    not present: oracle/models\nnot present: oracle/models\nnot on this cpu: avx512\nnot so\n");
        assert_eq!(outcome.notes, ["not present: oracle/models", "not on this cpu: avx512"]);
        assert_eq!(outcome.verdict, Verdict::Passed);
    }

    #[test]
    fn in_ci_skipped_stages_and_tests_fail() {
        assert_eq!(Outcome::skipped("x is not installed".into()).without_skips().verdict.word(), "FAIL");
        let outcome = read("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured").without_skips();
        assert_eq!((outcome.verdict.word(), outcome.tests.failed), ("FAIL", 1));
        let outcome = read("not present: oracle/models\n").without_skips();
        assert_eq!(outcome.verdict.word(), "ok");
    }
}
