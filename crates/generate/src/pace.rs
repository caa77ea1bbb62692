//! The number of prompt rows in a step, from the measured time of earlier steps. The composition of steps never changes
//! a result, so it may depend on the clock.

use std::time::Duration;

/// The time of a step with prompts while other sequences decode, at least.
const SHORT: f64 = 0.05;
/// The same as a multiple of the time of a step that only decodes.
const DECODES: f64 = 4.0;
/// The time of all prompt steps that the device has, if no sequence decodes: a program that is interrupted ends within
/// this time.
const LONG: f64 = 1.0;

/// Measures steps and bounds the next ones.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// Seconds of a step that only decodes.
    decode: f64,
    /// The largest number of prompt rows while others decode, and while none does.
    most: [usize; 2],
}

/// The rows of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rows {
    /// Rows of prompts.
    pub prompt: usize,
    /// Rows of sequences that decode.
    pub decode: usize,
}

impl Pace {
    /// The first steps with prompts are small, because nothing has been measured.
    const FIRST: [usize; 2] = [8, 64];

    pub fn new() -> Pace {
        Pace { decode: 0.0, most: Pace::FIRST }
    }

    /// The largest number of prompt rows in the next step.
    pub fn rows(&self, decoding: bool) -> usize {
        self.most[usize::from(!decoding)]
    }

    /// Takes the time of a step for which the host had to wait. `ahead` is the number of steps that the device has at
    /// the same time.
    pub fn measured(&mut self, rows: Rows, time: Duration, ahead: usize) {
        let time = time.as_secs_f64();
        if rows.prompt == 0 {
            self.decode = time;
            return;
        }
        let mixed = rows.decode > 0;
        let most = &mut self.most[usize::from(!mixed)];
        // The end of a prompt says little about the time of a row, because every step reads all weights.
        if 2 * rows.prompt < *most {
            return;
        }
        let (least, room, spent) = match mixed {
            true => (1, SHORT.max(DECODES * self.decode) - self.decode, self.decode),
            false => (Pace::FIRST[1], LONG / ahead.max(1) as f64, 0.0),
        };
        let row = (time - spent).max(time / 10.0).max(1e-9) / rows.prompt as f64;
        *most = ((room / row) as usize).min(most.saturating_mul(2)).max(least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    const PROMPT: fn(usize) -> Rows = |prompt| Rows { prompt, decode: 0 };
    const MIXED: fn(usize) -> Rows = |prompt| Rows { prompt, decode: 1 };

    #[test]
    fn prompts_grow_at_most_twofold_to_what_fits_in_a_second() {
        let mut pace = Pace::new();
        let mut seen = Vec::new();
        for _ in 0..5 {
            let rows = pace.rows(false);
            seen.push(rows);
            pace.measured(PROMPT(rows), seconds(rows as f64 * 0.002), 1);
        }
        assert_eq!(seen, [64, 128, 256, 500, 500]);
        pace.measured(PROMPT(500), seconds(1.0), 4);
        assert_eq!(pace.rows(false), 125, "four steps share the second");
        pace.measured(PROMPT(125), seconds(12.5), 1);
        assert_eq!(pace.rows(false), 64, "never fewer");
    }

    #[test]
    fn a_decode_waits_for_four_of_its_steps_or_50_ms() {
        let mut pace = Pace::new();
        pace.measured(Rows { prompt: 0, decode: 3 }, seconds(0.03), 1);
        let mut seen = Vec::new();
        for _ in 0..5 {
            let rows = pace.rows(true);
            seen.push(rows);
            pace.measured(MIXED(rows), seconds(0.03 + rows as f64 * 0.002), 1);
        }
        // 0.12 s less 0.03 s of the decodes.
        assert_eq!(seen, [8, 16, 32, 45, 45]);
        pace.measured(Rows { prompt: 0, decode: 3 }, seconds(0.001), 1);
        pace.measured(MIXED(45), seconds(0.001 + 45.0 * 0.002), 1);
        assert_eq!(pace.rows(true), 24, "50 ms less 1 ms");
    }

    #[test]
    fn the_end_of_a_prompt_changes_nothing() {
        let mut pace = Pace::new();
        pace.measured(PROMPT(64), seconds(0.064), 1);
        pace.measured(PROMPT(3), seconds(0.06), 1);
        assert_eq!(pace.rows(false), 128);
    }
}
