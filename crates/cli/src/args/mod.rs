//! The command line: definitions, parsing and error messages.

mod batch;
mod bench;
mod cache;
mod chat;
mod complete;
mod doctor;
mod environment;
mod explain;
mod file;
mod input;
mod list;
mod number;
mod report;
mod run;
mod sampling;
mod source;
mod spellings;
mod suggest;
mod template;
mod tokenize;

pub(crate) use batch::BatchArgs;
pub(crate) use bench::{BenchArgs, Output};
pub(crate) use cache::CacheArgs;
pub(crate) use chat::{ChatArgs, DialogueArgs, is_fixed, sampling_line};
pub(crate) use complete::{CompleteArgs, RawArgs};
pub(crate) use doctor::DoctorArgs;
pub(crate) use explain::ExplainArgs;
pub(crate) use file::FileArgs;
pub(crate) use input::{InputArgs, OutputArgs};
pub(crate) use list::ListArgs;
pub(crate) use run::{RunArgs, Way};
pub(crate) use sampling::SamplingArgs;
pub(crate) use source::{ModelSource, PromptSource};
pub(crate) use suggest::missing_model_hint;
pub(crate) use template::TemplateArgs;
pub(crate) use tokenize::TokenizeArgs;

use crate::terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use inkstone::Accuracy;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  inkstone run \"Once upon a time\"                  a story by the built-in model
  inkstone run model.gguf                          a conversation
  inkstone run model.gguf \"What is a GGUF file?\"
  inkstone complete model.gguf \"The capital of France is\" -n 200 --temp 0
  inkstone batch model.gguf requests.jsonl         many requests at once
  inkstone list                                    the models of this machine
  inkstone show model.gguf --check
  inkstone explain model.gguf
  inkstone doctor                                  the engines and devices of this machine
  inkstone bench model.gguf -p 512 -n 128 -t 1,2
  inkstone tokenize model.gguf \"Hello world\" --ids

Options of llama.cpp and Ollama have the same effect here, are ignored with a note if they are not
needed, or are refused with an error that names them. An environment variable INKSTONE_NAME sets
an option if the help of the option lists it.

Results are written to standard output, notes and errors to standard error.
Exit codes: 0 success, 1 invalid input, 2 invalid command line, 130 Ctrl-C, 143 SIGTERM.";

/// Generate text with models from GGUF files
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
    Batch(BatchArgs),
    Template(TemplateArgs),
    List(ListArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    Doctor(DoctorArgs),
    Bench(BenchArgs),
    Tokenize(TokenizeArgs),
    Logits(LogitsArgs),
    Completions(CompletionsArgs),
}

impl Arguments {
    /// Parses the arguments of this process. Prints help or an error, and then returns the exit code as the error.
    pub(crate) fn from_command_line() -> Result<Arguments, u8> {
        let mut program = Arguments::command();
        program.build();
        let given = with_command(&program, std::env::args_os().collect());
        let understood = spellings::understand(&program, &given).map_err(|line| report::refused(&line))?;
        understood.notes.iter().for_each(|note| terminal::note(note));
        Arguments::parsed(&understood.arguments).map_err(|(error, line)| report::report(&error, &line))
    }

    /// Parses arguments, with environment variables for missing options. Returns an error with its message.
    fn parsed(arguments: &[OsString]) -> Result<Arguments, (clap::Error, String)> {
        let program = environment::with_variables(Arguments::command());
        let parsed = program.try_get_matches_from(arguments).and_then(|m| Arguments::from_arg_matches(&m));
        parsed.map_err(|error| {
            let line = match Arguments::try_parse_from(arguments) {
                Err(own) => report::line(&own, &command_of(arguments)),
                // Without the variables the arguments are valid.
                Ok(_) => environment::line(&error),
            };
            (error, line)
        })
    }
}

/// The definition of the command that the arguments name, or of the program.
fn command_of(arguments: &[OsString]) -> clap::Command {
    let program = Arguments::command();
    arguments.get(1).and_then(|name| program.find_subcommand(name)).cloned().unwrap_or(program)
}

/// `inkstone MODEL ..` is `inkstone run MODEL ..`, and so are arguments that begin with an option of `run`. The name of
/// a command takes precedence over the name of a file.
fn with_command(program: &clap::Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(first) = arguments.get(1) else { return arguments };
    let is_run = || match first.to_str() {
        Some(option) if option.starts_with('-') => spellings::own(program, option).is_none(),
        _ => source::is_for_a_model(first),
    };
    if program.find_subcommand(first).is_none() && is_run() {
        arguments.insert(1, "run".into());
    }
    arguments
}

/// The headings of options that environment variables can set.
const MODEL_OPTIONS: &str = "Model options";
const SAMPLING_OPTIONS: &str = "Sampling options (values in the model file override the defaults)";

/// The names of the engines of this build, which live as long as the program.
fn engine_names() -> PossibleValuesParser {
    let names = inkstone::engines::names().into_iter().map(|name| &*name.leak());
    PossibleValuesParser::new(std::iter::once("auto").chain(names))
}

/// The accuracies by name.
fn accuracies() -> impl TypedValueParser<Value = Accuracy> {
    let named = |name: &str| Accuracy::ALL.into_iter().find(|a| a.name() == name).unwrap_or_default();
    PossibleValuesParser::new(Accuracy::ALL.map(Accuracy::name)).map(move |name| named(&name))
}

/// The engine and the precision with which a model is computed.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = MODEL_OPTIONS)]
pub(crate) struct EngineArgs {
    /// Compute engine
    #[arg(long, default_value = "auto", value_parser = engine_names())]
    pub(crate) engine: String,
    /// Number of compute threads; 0 or -1: one per core [default: 0]
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, value_parser = number::threads())]
    pub(crate) threads: Option<usize>,
    /// Variant of the kernels: portable, avx2 or avx512; on wgpu core or subgroup; the results are equal [default: the best of
    /// this machine]
    #[arg(long, value_name = "NAME")]
    pub(crate) isa: Option<String>,
    /// Device of the engine: a part of its name, or its number [default: the best one]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Accuracy of products: precise, or fast, which rounds activations more if that is faster
    #[arg(long, value_name = "NAME", default_value = Accuracy::default().name(), value_parser = accuracies())]
    pub(crate) numerics: Accuracy,
    /// Context in tokens, for prompt and text together; 0: the trained context, if it fits into memory [default: 0]
    #[arg(short, long, visible_alias = "ctx-size", value_name = "N", allow_negative_numbers = true,
          value_parser = number::whole_or::<u32>(2, 1 << 30, &[("0", 0)], "0 for the trained context, if it fits"))]
    pub(crate) ctx: Option<u32>,
    #[command(flatten)]
    pub(crate) cache: CacheArgs,
    /// Memory in bytes for weights, caches and activations, such as 1500M or 2G; 0: the free memory [default: 0]
    #[arg(long, visible_alias = "device-memory", value_name = "BYTES", allow_negative_numbers = true, value_parser = number::bytes)]
    pub(crate) budget: Option<u64>,
    /// Use the weights in the mapped file, without a copy in memory: a faster start, but slower text
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = number::switch)]
    pub(crate) mmap: Option<bool>,
    /// Do not fuse these operations, which does not change the results; can be repeated
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(inkstone::graph::fusions()))]
    pub(crate) without_fusion: Vec<String>,
}

/// Show the metadata and tensors of a model file
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) model: FileArgs,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Decode all tensors and list tensors with NaN or infinite values (exit code 1 if there are any)
    #[arg(long)]
    pub(crate) check: bool,
}

const LOGITS_EXAMPLES: &str = "Examples:
  inkstone logits model.gguf --ids 1,22172,3186 --out logits.npy --kv-type f32
  inkstone logits model.gguf --ids \"$(inkstone tokenize model.gguf --ids 'Hello')\" --out logits.npy";

/// Write the logits of every position to a NumPy file: f32, one row per token
#[derive(Args, Debug)]
#[command(after_help = LOGITS_EXAMPLES)]
pub(crate) struct LogitsArgs {
    #[command(flatten)]
    pub(crate) model: FileArgs,
    /// Token ids: 1,2,3 or [1, 2, 3]
    #[arg(long, value_name = "IDS", allow_negative_numbers = true, value_parser = number::ids)]
    pub(crate) ids: number::Ids,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Number of tokens per step [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::whole::<usize>(1, 0x7FFF_FFFF))]
    pub(crate) chunk: Option<usize>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

const COMPLETIONS_EXAMPLES: &str = "Examples:
  source <(inkstone completions bash)        in ~/.bashrc
  source <(inkstone completions zsh)         in ~/.zshrc, after compinit
  inkstone completions fish > ~/.config/fish/completions/inkstone.fish";

/// Print the completion script of a shell
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
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

    /// The message for arguments that are refused.
    #[track_caller]
    fn refusal(arguments: &[&str]) -> String {
        let line: Vec<_> = ["inkstone"].iter().chain(arguments).map(OsString::from).collect();
        Arguments::parsed(&line).unwrap_err().1
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
        const WINDOW: &str =
            "allowed: a whole number from 1 to 1073741824, or two, such as 512:4, the second below the first";
        let cases: &[(&[&str], &str)] = &[
            (&["--temperature", "-1"], "--temperature \"-1\": allowed: 0 or above (0: the most probable token)"),
            (&["--temperature", "NaN"], "--temperature \"NaN\": allowed: 0 or above (0: the most probable token)"),
            (&["--temp", "inf"], "--temperature \"inf\": allowed: 0 or above (0: the most probable token)"),
            (&["--top-p", "2"], "--top-p \"2\": allowed: above 0 to 1 (1: off)"),
            (&["--top-p", "0"], "--top-p \"0\": allowed: above 0 to 1 (1: off)"),
            (&["--typical-p", "0"], "--typical-p \"0\": allowed: above 0 to 1 (1: off)"),
            (&["--top-k", "-2"], "--top-k \"-2\": allowed: a whole number from 0 to 4294967295, or -1 for all"),
            (&["--min-p", "1.5"], "--min-p \"1.5\": allowed: 0 to 1 (0: off)"),
            (&["--repeat-penalty", "0"], "--repeat-penalty \"0\": allowed: above 0 (1: off)"),
            (
                &["--threads", "1000000"],
                "--threads \"1000000\": allowed: a whole number from 1 to 1024, or 0 or -1 for one per core",
            ),
            (
                &["--ctx", "1"],
                "--ctx \"1\": allowed: a whole number from 2 to 1073741824, or 0 for the trained context, if it fits",
            ),
            (&["-n", "-3"], "--max-tokens \"-3\": allowed: a whole number from 0 to 2147483647, or -1 for no limit"),
            (
                &["--seed", "-2"],
                "--seed \"-2\": allowed: a whole number from 0 to 18446744073709551615, or -1 for a random seed",
            ),
            (&["--min-tokens", "-1"], "--min-tokens \"-1\": allowed: a whole number from 0 to 4294967295"),
            (
                &["--logit-bias", "5"],
                "--logit-bias \"5\": allowed: the id of a token with a number or inf, such as 15043=-1.5, 15043+1, 15043-inf",
            ),
            (&["--ban", "-1"], "--ban \"-1\": allowed: a whole number from 0 to 4294967295"),
            (
                &["--budget", "2T"],
                "--budget \"2T\": allowed: a whole number from 0 to 18446744073709551615, also with K, M or G, such as 1500M",
            ),
            (&["--ignore-eos=maybe"], "--ignore-eos \"maybe\": allowed: 1, true, yes, on; 0, false, no, off"),
            (
                &["-n", "1000000000000"],
                "--max-tokens \"1000000000000\": allowed: a whole number from 0 to 2147483647, or -1 for no limit",
            ),
            (&["--logprobs", "21"], "--logprobs \"21\": allowed: a whole number from 0 to 20"),
            (&["--stop", ""], "--stop \"\": allowed: 1 to 256 bytes"),
            (&["--engine", "gpu"], "--engine \"gpu\": allowed: auto, wgpu, cpu, reference"),
            (&["--kv-type", "f8"], "--kv-type \"f8\": allowed: f16, f32"),
            (&["--kv-page", "0"], "--kv-page \"0\": allowed: a power of two from 16 to 1024"),
            (&["--kv-page", "17"], "--kv-page \"17\": allowed: a power of two from 16 to 1024"),
            (&["--kv-page", "2048"], "--kv-page \"2048\": allowed: a power of two from 16 to 1024"),
            (
                &["--kv-memory", "-1"],
                "--kv-memory \"-1\": allowed: a whole number from 0 to 18446744073709551615, also with K, M or G, such as 1500M",
            ),
            (&["--kv-window", "0"], WINDOW),
            (&["--kv-window", "5:6"], WINDOW),
            (&["--kv-window", "5:5"], WINDOW),
            (&["--kv-window", "1e3"], WINDOW),
            (&["--kv-window", "8:"], WINDOW),
            (&["--kv-window", ""], WINDOW),
            (&["--kv-window", "1073741825"], WINDOW),
            (&["--ctx-checkpoints", "1025"], "--ctx-checkpoints \"1025\": allowed: a whole number from 0 to 1024"),
            (&["--no-prefix=maybe"], "--no-prefix \"maybe\": allowed: 1, true, yes, on; 0, false, no, off"),
        ];
        for (arguments, wanted) in cases {
            let wanted = match *wanted {
                WINDOW => format!("--kv-window {:?}: {WINDOW}", arguments[1]),
                wanted => wanted.to_owned(),
            };
            assert_eq!(refusal(&[&["run"], *arguments].concat()), wanted, "{arguments:?}");
        }
    }

    #[test]
    fn e01_the_ends_of_the_ranges_are_allowed() {
        let lines = [
            "--temperature 0 --top-k 0 --top-p 1 --typical-p 1 --min-p 0 --repeat-penalty 1 --frequency-penalty -2",
            "--max-tokens 0 --ctx 0 --threads 0 --seed -1 --top-k -1 --repeat-last-n -1 --budget 0 --min-tokens 0",
            "--max-tokens -2 --threads -1 --repeat-last-n 0 --budget 17179869183G --no-repeat-ngram 0 --ban 0,4294967295",
            "--kv-page 16 --kv-memory 0 --kv-window 1 --ctx-checkpoints 0 --no-prefix",
            "--kv-window 1073741824:1073741823 --ctx-checkpoints 1024",
            "--kv-page 1024 --kv-memory 1G --no-prefix=no",
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
            let line = refusal(&["run", "--ctx", value]);
            assert!(line.starts_with(&format!("--ctx {value:?}: allowed: a whole number from 2 to ")), "{line}");
        }
        for value in [" 0.5", "0.5 ", "+0.5", "infinity", "0,5", "0x1", ""] {
            assert_eq!(
                refusal(&["run", "--temp", value]),
                format!("--temperature {value:?}: allowed: 0 or above (0: the most probable token)")
            );
        }
        for value in ["", "5=", "=1", "5=nan", "5=1e40", "5 = 1", "5==1", "4294967296=1", "5=+-1", "5=--1"] {
            let line = refusal(&["run", "--logit-bias", value]);
            assert!(line.starts_with(&format!("--logit-bias {value:?}: allowed: ")), "{value:?}: {line}");
        }
        for value in ["", "K", "1.5G", "-1", "1KB", "18446744073709551616", "17179869184G", "1 G"] {
            let line = refusal(&["run", "--budget", value]);
            assert!(line.starts_with(&format!("--budget {value:?}: allowed: ")), "{value:?}: {line}");
        }
        for value in ["1,,2", "1,-2", "1;2", "[1,2", "1,2,", "4294967296", "[]", ""] {
            let line = refusal(&["logits", "m.gguf", "--out", "x", "--ids", value]);
            assert!(line.starts_with(&format!("--ids {value:?}: ")), "{value:?}");
        }
    }

    #[test]
    fn e06_what_is_misspelt_gets_a_suggestion() {
        assert_eq!(refusal(&["run", "--temprature", "1"]), "unknown option --temprature; did you mean --temperature?");
        assert_eq!(refusal(&["shwo"]), "unknown command \"shwo\"; did you mean show?");
        assert_eq!(refusal(&["run", "--sope"]), "unknown option --sope; see --help", "--stop is too far");
        assert_eq!(refusal(&["run", "--n-predit", "1"]), "unknown option --n-predit; did you mean --n-predict?");
        assert_eq!(refusal(&["show", "a", "--temprature"]), "unknown option --temprature; see --help");
        assert!(refusal(&["wish"]).starts_with("unknown command \"wish\"; commands: run, "));
        assert_eq!(
            refusal(&["Once upon a time"]),
            "unknown command \"Once upon a time\"; commands: run, complete, chat, batch, template, list, show, explain, doctor, bench, tokenize, logits, completions"
        );
        assert_eq!(refusal(&["run", "-x"]), "unknown option -x; see --help");
        assert_eq!(refusal(&["completions"]), "missing: <SHELL>; see --help");
        assert_eq!(refusal(&["run", "--top-k"]), "--top-k needs a value");
        assert_eq!(refusal(&["show", "a", "b"]), "one argument too many: \"b\"; see --help");
        assert_eq!(refusal(&["show", "a", "--json", "--json"]), "--json is given twice");
        assert_eq!(refusal(&["show", "a", "--json=1"]), "--json takes no value, found \"1\"");
    }

    #[test]
    fn a_model_without_a_command_is_run() {
        let cases = [
            (&["m.gguf", "Hello"][..], &["run", "m.gguf", "Hello"][..]),
            (&["-m", "m.gguf"], &["run", "-m", "m.gguf"]),
            (&["-hf", "a/b"], &["run", "-hf", "a/b"]),
            (&["-h"], &["-h"]),
            (&["Cargo.toml"], &["run", "Cargo.toml"]),
            (&["story", "Hello"], &["run", "story", "Hello"]),
            (&["llama3.2"], &["run", "llama3.2"]), // refused with a hint, as by `run`
            (&["list"], &["list"]),
            (&["show", "m.gguf"], &["show", "m.gguf"]),
            (&["help"], &["help"]),
            (&["Once upon a time"], &["Once upon a time"]),
            (&["--version"], &["--version"]),
            (&[], &[]),
        ];
        let mut program = Arguments::command();
        program.build();
        for (given, wanted) in cases {
            let line =
                |arguments: &[&str]| ["inkstone"].iter().chain(arguments).map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_command(&program, line(given)), line(wanted));
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

    #[test]
    fn options_reach_the_library() {
        let line = "run --logit-bias 5=-1.5,6+2 --logit-bias 7-inf --ban 1,2 --ban 3 --no-repeat-ngram 4 --min-tokens 8 \
                    --ignore-eos --repeat-last-n 16 --seed -1 --top-k -1 -n 0 --budget 2G --mmap";
        let Ok(Command::Run(args)) = parse(&line.split_whitespace().collect::<Vec<_>>()) else { panic!("refused") };
        let options = args.output.sampling.options();
        assert_eq!(options.logit_bias, [(5, -1.5), (6, 2.0), (7, f32::NEG_INFINITY)]);
        assert_eq!((options.banned, options.no_repeat_ngram, options.min_tokens), (vec![1, 2, 3], Some(4), 8));
        assert_eq!((options.ignore_end, options.repeat_last_n, options.seed), (true, Some(16), None));
        assert_eq!((options.top_k, options.max_tokens), (Some(0), Some(inkstone::Limit::Tokens(0))));
        assert_eq!((args.output.engine.budget, args.output.engine.mmap), (Some(2 << 30), Some(true)));
        let Ok(Command::Run(args)) = parse(&["run", "--repeat-last-n", "-1", "--ignore-eos=false"]) else {
            panic!("refused")
        };
        let options = args.output.sampling.options();
        assert_eq!((options.repeat_last_n, options.ignore_end), (Some(u32::MAX), false));
    }
}
