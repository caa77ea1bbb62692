//! The command line: what can be said, and what is wrong with what was said.

mod bench;
mod chat;
mod complete;
mod explain;
mod input;
mod number;
mod report;
mod run;
mod sampling;
mod source;
mod suggest;
mod template;

pub(crate) use bench::{BenchArgs, Output};
pub(crate) use chat::{ChatArgs, DialogueArgs, sampling_line};
pub(crate) use complete::{CompleteArgs, RawArgs};
pub(crate) use explain::ExplainArgs;
pub(crate) use input::{InputArgs, OutputArgs};
pub(crate) use run::{RunArgs, Way};
pub(crate) use sampling::SamplingArgs;
pub(crate) use source::{ModelSource, PromptSource};
pub(crate) use suggest::missing_model_hint;
pub(crate) use template::TemplateArgs;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use inkstone::Accuracy;
use inkstone::kvcache::{FORMATS, Format};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  inkstone run \"Once upon a time\"                  a story by the built-in model
  inkstone run model.gguf                          a conversation
  inkstone run model.gguf \"What is a GGUF file?\"
  inkstone complete model.gguf \"The capital of France is\" -n 200 --temp 0
  inkstone show model.gguf --check
  inkstone explain model.gguf
  inkstone bench model.gguf -p 512 -n 128 -t 1,2
  inkstone tokenize model.gguf \"Hello world\" --ids

Results go to standard output, all else to standard error.
Exit codes: 0 success, 1 invalid input, 2 invalid command line, 130 Ctrl-C, 143 SIGTERM.";

/// Turns GGUF model files into text
#[derive(Debug, Parser)]
#[command(name = "inkstone", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Complete(CompleteArgs),
    Chat(ChatArgs),
    Template(TemplateArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    Bench(BenchArgs),
    Tokenize(TokenizeArgs),
    Logits(LogitsArgs),
    Completions(CompletionsArgs),
}

impl Arguments {
    /// The arguments of this process. Help and what is wrong is printed; then the exit code comes back.
    pub(crate) fn from_command_line() -> Result<Arguments, u8> {
        Arguments::try_parse_from(with_command(std::env::args_os().collect())).map_err(|e| report::report(&e))
    }
}

/// `inkstone MODEL ..` is `inkstone run MODEL ..`. The name of a command wins over that of a file.
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = arguments.get(1) else { return arguments };
    let is_command = || first == "help" || Arguments::command().get_subcommands().any(|c| first == c.get_name());
    let is_model = first == "-m" || first == "--model" || source::looks_like_a_model(first);
    if is_model && !is_command() {
        arguments.insert(1, "run".into());
    }
    arguments
}

/// The engines of this build. The names live as long as the program.
fn engine_names() -> PossibleValuesParser {
    let names = inkstone::engines::names().into_iter().map(|name| &*name.leak());
    PossibleValuesParser::new(std::iter::once("auto").chain(names))
}

/// Accuracies by name.
fn accuracies() -> impl TypedValueParser<Value = Accuracy> {
    let named = |name: &str| Accuracy::ALL.into_iter().find(|a| a.name() == name).unwrap_or_default();
    PossibleValuesParser::new(Accuracy::ALL.map(Accuracy::name)).map(move |name| named(&name))
}

/// Where and in what precision a model is computed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Model options")]
pub(crate) struct EngineArgs {
    /// What computes
    #[arg(long, default_value = "auto", value_parser = engine_names())]
    pub(crate) engine: String,
    /// Threads that compute [default: one a core]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 1024))]
    pub(crate) threads: Option<usize>,
    /// Instruction set of the kernels: portable, avx2, avx512; the bits are the same [default: the best that is here]
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
    /// Accuracy of products: precise, or fast, which rounds activations more where that is faster
    #[arg(long, value_name = "NAME", default_value = Accuracy::default().name(), value_parser = accuracies())]
    pub(crate) numerics: Accuracy,
    /// Tokens that prompt and text may have together [default: what the model was trained for, if it fits]
    #[arg(short, long, visible_alias = "ctx-size", value_name = "N", allow_negative_numbers = true,
          value_parser = number::whole::<u32>(2, 1 << 30))]
    pub(crate) ctx: Option<u32>,
    /// Precision of the key-value cache
    #[arg(long, value_name = "TYPE", default_value = FORMATS[0].name,
          value_parser = PossibleValuesParser::new(FORMATS.iter().map(|f| f.name)).try_map(|name| Format::named(&name)))]
    pub(crate) kv_type: Format,
    /// Use the weights where they lie in the mapped file: slower, but they take no memory of their own
    #[arg(long)]
    pub(crate) mmap: bool,
    /// Leaves ops apart that the compiler would fuse; may be given several times, the bits are the same
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(inkstone::graph::fusions()))]
    pub(crate) without_fusion: Vec<String>,
}

/// Lists what is in a model file, also in one that can't be run
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// GGUF file
    pub(crate) model: PathBuf,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Decodes all tensors and names those with NaN or infinite values (exit code 1 if there are any)
    #[arg(long)]
    pub(crate) check: bool,
}

const TOKENIZE_EXAMPLES: &str = "Examples:
  inkstone tokenize model.gguf \"Hello world\"        a line for each token: id, text
  inkstone tokenize model.gguf --ids < book.txt     [1, 2, 3]";

/// Shows the tokens of a text; the file may be a vocabulary without tensors
#[derive(Args, Debug)]
#[command(after_help = TOKENIZE_EXAMPLES)]
pub(crate) struct TokenizeArgs {
    /// GGUF file
    pub(crate) model: PathBuf,
    /// Text [default: standard input, byte for byte]
    pub(crate) text: Option<OsString>,
    /// Only the ids: [1, 2, 3]
    #[arg(long)]
    pub(crate) ids: bool,
    /// No token for the beginning of the text, whatever the file says
    #[arg(long)]
    pub(crate) no_bos: bool,
    /// Makes control tokens out of their texts, such as <|im_start|>
    #[arg(long)]
    pub(crate) special: bool,
    /// Longest text in bytes
    #[arg(long, value_name = "N", default_value = "67108864", allow_negative_numbers = true,
          value_parser = number::whole::<u64>(1, 0x7FFF_FFFF))]
    pub(crate) max_bytes: u64,
}

const LOGITS_EXAMPLES: &str = "Examples:
  inkstone logits model.gguf --ids 1,22172,3186 --out logits.npy --kv-type f32
  inkstone logits model.gguf --ids \"$(inkstone tokenize model.gguf --ids 'Hello')\" --out logits.npy";

/// Writes the logits of every position as a NumPy file: f32, a row for each token
#[derive(Args, Debug)]
#[command(after_help = LOGITS_EXAMPLES)]
pub(crate) struct LogitsArgs {
    /// GGUF file
    pub(crate) model: PathBuf,
    /// Token ids: 1,2,3 or [1, 2, 3]
    #[arg(long, value_name = "IDS", allow_negative_numbers = true, value_parser = number::ids)]
    pub(crate) ids: number::Ids,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Tokens a step [default: all in one]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 0x7FFF_FFFF))]
    pub(crate) chunk: Option<usize>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

/// Prints the completions of a shell
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Name of the shell
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Command, clap::Error> {
        Arguments::try_parse_from([&["inkstone"], arguments].concat()).map(|a| a.command)
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn logits_takes_the_ids_that_tokenize_prints() {
        for text in ["1,2,3", "[1, 2, 3]"] {
            let Ok(Command::Logits(args)) = parse(&["logits", "m.gguf", "--ids", text, "--out", "x.npy"]) else {
                panic!("{text} is refused");
            };
            assert_eq!(args.ids.0, [1, 2, 3]);
        }
    }

    #[test]
    fn e01_values_outside_their_range_are_refused_with_value_and_range() {
        let cases: &[(&[&str], &str)] = &[
            (&["--temperature", "-1"], "--temperature \"-1\": allowed: 0 or above (0: the most probable token)"),
            (&["--temperature", "NaN"], "--temperature \"NaN\": allowed: 0 or above (0: the most probable token)"),
            (&["--temp", "inf"], "--temperature \"inf\": allowed: 0 or above (0: the most probable token)"),
            (&["--top-p", "2"], "--top-p \"2\": allowed: above 0 to 1 (1: off)"),
            (&["--top-p", "0"], "--top-p \"0\": allowed: above 0 to 1 (1: off)"),
            (&["--typical-p", "0"], "--typical-p \"0\": allowed: above 0 to 1 (1: off)"),
            (&["--top-k", "-1"], "--top-k \"-1\": allowed: a whole number from 0 to 4294967295"),
            (&["--min-p", "1.5"], "--min-p \"1.5\": allowed: 0 to 1 (0: off)"),
            (&["--repeat-penalty", "0"], "--repeat-penalty \"0\": allowed: above 0 (1: off)"),
            (&["--threads", "0"], "--threads \"0\": allowed: a whole number from 1 to 1024"),
            (&["--threads", "1000000"], "--threads \"1000000\": allowed: a whole number from 1 to 1024"),
            (&["--ctx", "1"], "--ctx \"1\": allowed: a whole number from 2 to 1073741824"),
            (&["-n", "0"], "--max-tokens \"0\": allowed: a whole number from 1 to 2147483647, or -1 for no limit"),
            (
                &["-n", "1000000000000"],
                "--max-tokens \"1000000000000\": allowed: a whole number from 1 to 2147483647, or -1 for no limit",
            ),
            (&["--logprobs", "21"], "--logprobs \"21\": allowed: a whole number from 0 to 20"),
            (&["--stop", ""], "--stop \"\": allowed: 1 to 256 bytes"),
            (&["--engine", "gpu"], "--engine \"gpu\": allowed: auto, cpu, reference"),
            (&["--kv-type", "f8"], "--kv-type \"f8\": allowed: f16, f32"),
        ];
        for (arguments, wanted) in cases {
            let error = parse(&[&["run"], *arguments].concat()).unwrap_err();
            assert_eq!(report::line(&error), *wanted, "{arguments:?}");
        }
    }

    #[test]
    fn e01_the_ends_of_the_ranges_are_allowed() {
        let lines = [
            "--temperature 0 --top-k 0 --top-p 1 --typical-p 1 --min-p 0 --repeat-penalty 1 --frequency-penalty -2",
            "--max-tokens -1 --ctx 2 --threads 1 --seed 18446744073709551615 --logprobs 0 --presence-penalty 2",
        ];
        for line in lines {
            let arguments: Vec<_> = ["run"].into_iter().chain(line.split(' ')).collect();
            assert!(parse(&arguments).is_ok(), "{line}");
        }
    }

    #[test]
    fn e02_numbers_are_parsed_strictly() {
        for value in ["-5", "2147483648", "1e3", " 5", "5 ", "5.0", "+5", "", "0x10", "5_000", "99999999999999999999"] {
            let error = parse(&["run", "--ctx", value]).unwrap_err();
            let line = report::line(&error);
            assert_eq!(line, format!("--ctx {value:?}: allowed: a whole number from 2 to 1073741824"));
        }
        for value in [" 0.5", "0.5 ", "+0.5", "infinity", "0,5", "0x1", ""] {
            let error = parse(&["run", "--temp", value]).unwrap_err();
            assert_eq!(
                report::line(&error),
                format!("--temperature {value:?}: allowed: 0 or above (0: the most probable token)")
            );
        }
        for value in ["1,,2", "1,-2", "1;2", "[1,2", "1,2,", "4294967296", "[]", ""] {
            let error = parse(&["logits", "m.gguf", "--out", "x", "--ids", value]).unwrap_err();
            assert!(report::line(&error).starts_with(&format!("--ids {value:?}: ")), "{value:?}");
        }
    }

    #[test]
    fn e06_what_is_misspelt_gets_a_suggestion() {
        let line = |arguments: &[&str]| report::line(&parse(arguments).unwrap_err());
        assert_eq!(line(&["run", "--temprature", "1"]), "unknown option --temprature; did you mean --temperature?");
        assert_eq!(line(&["shwo"]), "unknown command \"shwo\"; did you mean show?");
        assert_eq!(
            line(&["Once upon a time"]),
            "unknown command \"Once upon a time\"; commands: run, complete, chat, template, show, explain, bench, tokenize, logits, completions"
        );
        assert_eq!(line(&["run", "-x"]), "unknown option -x; see --help");
        assert_eq!(line(&["show"]), "missing: <MODEL>; see --help");
        assert_eq!(line(&["run", "--top-k"]), "--top-k needs a value");
        assert_eq!(line(&["show", "a", "b"]), "one argument too many: \"b\"; see --help");
        assert_eq!(line(&["show", "a", "--json", "--json"]), "--json is given twice");
        assert_eq!(line(&["show", "a", "--json=1"]), "--json takes no value, found \"1\"");
    }

    #[test]
    fn a_model_without_a_command_is_run() {
        let cases = [
            (&["m.gguf", "Hello"][..], &["run", "m.gguf", "Hello"][..]),
            (&["-m", "m.gguf"], &["run", "-m", "m.gguf"]),
            (&["Cargo.toml"], &["run", "Cargo.toml"]),
            (&["show", "m.gguf"], &["show", "m.gguf"]),
            (&["help"], &["help"]),
            (&["Once upon a time"], &["Once upon a time"]),
            (&["--version"], &["--version"]),
            (&[], &[]),
        ];
        for (given, wanted) in cases {
            let line =
                |arguments: &[&str]| ["inkstone"].iter().chain(arguments).map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_command(line(given)), line(wanted));
        }
    }

    #[test]
    fn what_users_of_llama_cpp_type_works() {
        let Ok(Command::Run(args)) = parse(&[
            "run", "-m", "m.gguf", "-p", "text", "-n", "5", "-c", "128", "-t", "2", "-s", "7", "--temp", "0.5",
        ]) else {
            panic!("refused");
        };
        let options = args.output.sampling.options();
        assert_eq!((options.temperature, options.seed), (Some(0.5), Some(7)));
        assert_eq!(options.max_tokens, Some(inkstone::Limit::Tokens(5)));
        assert_eq!((args.output.engine.ctx, args.output.engine.threads), (Some(128), Some(2)));
    }
}
