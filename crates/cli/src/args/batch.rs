//! Arguments of `batch`.

use super::{EngineArgs, ModelSource, number, sampling::SamplingArgs};
use crate::Error;
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  inkstone batch model.gguf requests.jsonl > results.jsonl
  inkstone batch model.gguf requests.jsonl -n 100 --temp 0 --sequences 16
  echo '{\"prompt\": \"Once upon a time\", \"max_tokens\": 20, \"n\": 3}' | inkstone batch -

Each line of FILE is a request, a JSON object with one of the fields
  prompt      a raw text
  ids         token ids: [1, 2, 3]
  messages    a conversation, in the format of chat APIs, which the model's chat template renders
and any of the options temperature, top_k, top_p, typical_p, min_p, repeat_penalty, repeat_last_n,
frequency_penalty, presence_penalty, no_repeat_ngram, logit_bias, banned, min_tokens, max_tokens,
stop, stop_ids, ignore_end, seed, n (samples, 1 to 64), logprobs, special, bos, deadline_seconds,
cache_salt, template_vars and template_limits. An option of a line wins over the command line;
lists of both apply. The field id is repeated in the result.

Each line of the output is a result, in the order of the requests: index, id, and replies or error.
The exit code is 1 if a line has an error; the other lines have their results.";

/// Answer many requests at once: one JSON object per line, one result per line
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BatchArgs {
    /// GGUF file, then the file with the requests; -: standard input [default: the built-in story model]
    #[arg(value_names = ["MODEL", "FILE"], num_args = 0..=2)]
    arguments: Vec<OsString>,
    /// GGUF file, or a name that `list` shows
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Number of sequences at once
    #[arg(long, value_name = "N", default_value = "8", allow_negative_numbers = true,
          value_parser = number::whole::<usize>(1, 64))]
    pub(crate) sequences: usize,
    /// Print more about the model
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
    #[command(flatten)]
    pub(crate) sampling: SamplingArgs,
}

impl BatchArgs {
    /// The model, and the file with the requests.
    pub(crate) fn sources(&self) -> Result<(ModelSource, &Path), Error> {
        let (model, file) = match (self.arguments.as_slice(), &self.model) {
            ([file], model) => (model.as_deref(), file),
            ([model, file], None) => (Some(Path::new(model)), file),
            ([], _) => return Err(missing("")),
            ([.., last], _) => {
                return Err(Error::Usage(format!("one argument too many: {last:?}; the model is already given")));
            }
        };
        let file = Path::new(file);
        if file.extension().is_some_and(|extension| extension == "gguf") {
            return Err(missing(&format!("; {} is a model", file.display())));
        }
        Ok((model.map_or(Ok(ModelSource::Embedded), ModelSource::named)?, file))
    }
}

/// The error for missing requests.
fn missing(hint: &str) -> Error {
    Error::Usage(format!("missing: FILE with one request per line, or - for standard input{hint}"))
}

#[cfg(test)]
mod tests {
    use crate::args::{Arguments, Command, ModelSource};
    use clap::Parser;

    fn meant(line: &str) -> Result<String, String> {
        let parsed = Arguments::try_parse_from(["inkstone", "batch"].into_iter().chain(line.split_whitespace()));
        let Ok(Command::Batch(args)) = parsed.map(|a| a.command) else { panic!("{line} is refused") };
        let (model, file) = args.sources().map_err(|e| e.to_string())?;
        let model = match model {
            ModelSource::Embedded => "story".to_string(),
            ModelSource::File(path) => path.display().to_string(),
        };
        Ok(format!("{model} {}", file.display()))
    }

    #[test]
    fn the_last_argument_is_the_file_with_the_requests() {
        assert_eq!(meant("x.jsonl").unwrap(), "story x.jsonl");
        assert_eq!(meant("-").unwrap(), "story -");
        assert_eq!(meant("m.gguf -").unwrap(), "m.gguf -");
        assert_eq!(meant("x.jsonl -m m.gguf").unwrap(), "m.gguf x.jsonl");
        let missing = "missing: FILE with one request per line, or - for standard input";
        assert_eq!(meant("").unwrap_err(), missing);
        assert_eq!(meant("-m m.gguf").unwrap_err(), missing);
        assert_eq!(meant("m.gguf").unwrap_err(), format!("{missing}; m.gguf is a model"));
        assert_eq!(meant("-m a.gguf b c").unwrap_err(), "one argument too many: \"c\"; the model is already given");
    }
}
