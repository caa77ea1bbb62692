//! Options of a request: the sampling of tokens and the end of the text.

use super::number;
use clap::Args;
use inkstone::generate::{MAX_STOP_BYTES, MAX_STOPS};
use inkstone::{Limit, Options};

/// Sampling options. A missing option has the value in the model file, or else the default of the program.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = super::SAMPLING_OPTIONS)]
pub(crate) struct SamplingArgs {
    /// Randomness of the draw; 0: always the most probable token [default: 0.8]
    #[arg(long, visible_alias = "temp", value_name = "T", allow_negative_numbers = true,
          value_parser = number::real(|t| t >= 0.0, "0 or above (0: the most probable token)"))]
    temperature: Option<f64>,
    /// Keep only the N most probable tokens; 0 or -1: all [default: 40]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = number::whole_or::<u32>(0, u32::MAX as u64, &[("-1", 0)], "-1 for all"))]
    top_k: Option<u32>,
    /// Keep only the most probable tokens that together reach probability P; 1: all [default: 0.95]
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          value_parser = number::real(|p| p > 0.0 && p <= 1.0, "above 0 to 1 (1: off)"))]
    top_p: Option<f64>,
    /// Keep only the most typical tokens that together reach probability P; 1: all [default: 1]
    #[arg(long, visible_alias = "typical", value_name = "P", allow_negative_numbers = true,
          value_parser = number::real(|p| p > 0.0 && p <= 1.0, "above 0 to 1 (1: off)"))]
    typical_p: Option<f64>,
    /// Keep only tokens at least P times as probable as the most probable token; 0: all [default: 0.05]
    #[arg(long, value_name = "P", allow_negative_numbers = true,
          value_parser = number::real(|p| (0.0..=1.0).contains(&p), "0 to 1 (0: off)"))]
    min_p: Option<f64>,
    /// Lower the probability of tokens that have already occurred; 1: off [default: 1]
    #[arg(long, value_name = "R", allow_negative_numbers = true,
          value_parser = number::real(|r| r > 0.0, "above 0 (1: off)"))]
    repeat_penalty: Option<f64>,
    /// Number of previous tokens that --repeat-penalty considers; -1: all; 0: off [default: -1]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = number::whole_or::<u32>(0, u32::MAX as u64, &[("-1", u32::MAX)], "-1 for all"))]
    repeat_last_n: Option<u32>,
    /// Subtract A from the logit of a token for each time that it was generated; 0: off [default: 0]
    #[arg(long, value_name = "A", allow_negative_numbers = true,
          value_parser = number::real(|_| true, "a finite number (0: off)"))]
    frequency_penalty: Option<f64>,
    /// Subtract A from the logit of a token that was generated before; 0: off [default: 0]
    #[arg(long, value_name = "A", allow_negative_numbers = true,
          value_parser = number::real(|_| true, "a finite number (0: off)"))]
    presence_penalty: Option<f64>,
    /// Never repeat a sequence of N tokens; 0: off [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u32>(0, u32::MAX as u64))]
    no_repeat_ngram: Option<u32>,
    /// Add B to the logit of token ID, such as 15043=-1.5; can be repeated or separated by commas
    #[arg(long, value_name = "ID=B", value_delimiter = ',', value_parser = number::bias)]
    logit_bias: Vec<(u32, f32)>,
    /// Never generate token ID; can be repeated or separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',', allow_negative_numbers = true,
          value_parser = number::whole::<u32>(0, u32::MAX as u64))]
    ban: Vec<u32>,
    /// Seed: the same seed generates the same text; -1: a random seed, printed at the end [default: -1]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    seed: Option<Seed>,
    /// Maximum number of tokens; 0: only read the prompt; -1: until the text ends or the context is full [default: -1]
    #[arg(short = 'n', long, visible_alias = "n-predict", value_name = "N", allow_negative_numbers = true,
          value_parser = number::limit)]
    max_tokens: Option<Limit>,
    /// Minimum number of tokens before the text may end [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u32>(0, u32::MAX as u64))]
    min_tokens: Option<u32>,
    /// Continue the text after the model has ended it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = number::switch)]
    ignore_eos: Option<bool>,
    /// End the text before TEXT; can be given up to 16 times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = stop)]
    stop: Vec<String>,
    /// Print the log-probabilities of the tokens and of the N most probable tokens
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<u32>(0, 20))]
    logprobs: Option<u32>,
}

impl SamplingArgs {
    /// The options for the library.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.temperature = self.temperature;
        options.top_k = self.top_k;
        options.top_p = self.top_p;
        options.typical_p = self.typical_p;
        options.min_p = self.min_p;
        options.repeat_penalty = self.repeat_penalty;
        options.repeat_last_n = self.repeat_last_n;
        options.frequency_penalty = self.frequency_penalty;
        options.presence_penalty = self.presence_penalty;
        options.no_repeat_ngram = self.no_repeat_ngram;
        options.logit_bias.clone_from(&self.logit_bias);
        options.banned.clone_from(&self.ban);
        options.seed = self.seed.and_then(|seed| seed.0);
        options.max_tokens = self.max_tokens;
        options.min_tokens = self.min_tokens.unwrap_or(0);
        options.ignore_end = self.ignore_eos.unwrap_or(false);
        options.stop = self.stop.clone();
        options.logprobs = self.logprobs;
        options
    }

    /// Checks the number of stop texts.
    pub(crate) fn check(&self) -> Result<(), crate::Error> {
        if self.stop.len() > MAX_STOPS {
            let found = self.stop.len();
            return Err(crate::Error::Usage(format!("--stop is given {found} times, allowed: at most {MAX_STOPS}")));
        }
        Ok(())
    }
}

/// A given seed, or `None` for a random seed.
#[derive(Clone, Copy, Debug)]
struct Seed(Option<u64>);

fn seed(text: &str) -> Result<Seed, String> {
    if text == "-1" {
        return Ok(Seed(None));
    }
    let given = number::whole(0, u64::MAX)(text).map(|n| Seed(Some(n)));
    given.map_err(|e| format!("{e}, or -1 for a random seed"))
}

fn stop(text: &str) -> Result<String, String> {
    if (1..=MAX_STOP_BYTES).contains(&text.len()) {
        Ok(text.to_string())
    } else {
        Err(format!("allowed: 1 to {MAX_STOP_BYTES} bytes"))
    }
}
