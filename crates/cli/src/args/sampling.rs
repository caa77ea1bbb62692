//! Options of a request: how tokens are drawn and when the text ends.

use super::number;
use clap::Args;
use inkstone::generate::{MAX_STOP_BYTES, MAX_STOPS};
use inkstone::{Limit, Options};

/// What is not given is as the model file says, else as the program's defaults say.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sampling options (a value in the model file comes before the default)")]
pub(crate) struct SamplingArgs {
    /// How far the draw strays from the most probable token; 0: not at all [default: 0.8]
    #[arg(long, visible_alias = "temp", value_name = "T", allow_negative_numbers = true,
          value_parser = number::real(|t| t >= 0.0, "0 or above (0: the most probable token)"))]
    temperature: Option<f64>,
    /// Only the N most probable tokens; 0: all [default: 40]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u32>(0, u32::MAX as u64))]
    top_k: Option<u32>,
    /// Only the most probable tokens that together reach P; 1: all [default: 0.95]
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          value_parser = number::real(|p| p > 0.0 && p <= 1.0, "above 0 to 1 (1: off)"))]
    top_p: Option<f64>,
    /// Only the most typical tokens that together reach P; 1: all [default: 1]
    #[arg(long, visible_alias = "typical", value_name = "P", allow_negative_numbers = true,
          value_parser = number::real(|p| p > 0.0 && p <= 1.0, "above 0 to 1 (1: off)"))]
    typical_p: Option<f64>,
    /// Only tokens at least P times as probable as the most probable; 0: all [default: 0.05]
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          value_parser = number::real(|p| (0.0..=1.0).contains(&p), "0 to 1 (0: off)"))]
    min_p: Option<f64>,
    /// Makes tokens that were there before less probable; 1: off [default: 1]
    #[arg(long, value_name = "R", allow_negative_numbers = true,
          value_parser = number::real(|r| r > 0.0, "above 0 (1: off)"))]
    repeat_penalty: Option<f64>,
    /// Taken from a token's logit for each time that it was generated; 0: off [default: 0]
    #[arg(long, value_name = "A", allow_negative_numbers = true,
          value_parser = number::real(|_| true, "a finite number (0: off)"))]
    frequency_penalty: Option<f64>,
    /// Taken from a token's logit if it was generated; 0: off [default: 0]
    #[arg(long, value_name = "A", allow_negative_numbers = true,
          value_parser = number::real(|_| true, "a finite number (0: off)"))]
    presence_penalty: Option<f64>,
    /// The same seed gives the same text [default: drawn, and shown at the end]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u64>(0, u64::MAX))]
    seed: Option<u64>,
    /// At most N tokens; -1: until the end of the text or of the context [default: -1]
    #[arg(short = 'n', long, visible_alias = "n-predict", value_name = "N", allow_negative_numbers = true,
          value_parser = number::limit)]
    max_tokens: Option<Limit>,
    /// Ends the text before TEXT; may be given up to 16 times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = stop)]
    stop: Vec<String>,
    /// Log-probabilities of the tokens, with those of the N most probable ones
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u32>(0, 20))]
    logprobs: Option<u32>,
}

impl SamplingArgs {
    /// As the library takes them.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.temperature = self.temperature;
        options.top_k = self.top_k;
        options.top_p = self.top_p;
        options.typical_p = self.typical_p;
        options.min_p = self.min_p;
        options.repeat_penalty = self.repeat_penalty;
        options.frequency_penalty = self.frequency_penalty;
        options.presence_penalty = self.presence_penalty;
        options.seed = self.seed;
        options.max_tokens = self.max_tokens;
        options.stop = self.stop.clone();
        options.logprobs = self.logprobs;
        options
    }

    /// What no single value shows.
    pub(crate) fn check(&self) -> Result<(), crate::Error> {
        if self.stop.len() > MAX_STOPS {
            let found = self.stop.len();
            return Err(crate::Error::Usage(format!("--stop is given {found} times, allowed: at most {MAX_STOPS}")));
        }
        Ok(())
    }
}

fn stop(text: &str) -> Result<String, String> {
    if (1..=MAX_STOP_BYTES).contains(&text.len()) {
        Ok(text.to_string())
    } else {
        Err(format!("allowed: 1 to {MAX_STOP_BYTES} bytes"))
    }
}
