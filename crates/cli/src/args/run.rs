//! Arguments of `run`, and the choice between `chat` and `complete`.

use super::{DialogueArgs, InputArgs, ModelSource, OutputArgs, RawArgs};
use crate::Error;
use clap::Args;

const EXAMPLES: &str = "Examples:
  inkstone run \"Once upon a time\"                a story by the built-in model
  inkstone run model.gguf                        a conversation
  inkstone run model.gguf \"What is a GGUF file?\"
  inkstone run model.gguf \"Summarise this text.\" < report.txt
  inkstone run model.gguf -p \"Who are you?\" --system \"You are a pirate.\" --json

A single argument is the model if it is an existing file, ends in .gguf, has a path separator and
no space, or is a name that `inkstone list` shows; any other argument is the prompt. A pipe or file
on standard input follows the prompt, after an empty line. `inkstone MODEL ..` is short for
`inkstone run MODEL ..`.

A model with a chat template answers the prompt, like `inkstone chat`. The prompt is continued as
raw text, like `inkstone complete`, if the file has no template, if no MODEL is given, and with
--special, --raw or INKSTONE_RAW=1. With --system, --template or --template-var the model always
answers.";

/// Answer a prompt with the chat template of the model, or continue it if there is none
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Continue the prompt as raw text, even if the model has a chat template
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    pub(crate) special: RawArgs,
    #[command(flatten)]
    pub(crate) dialogue: DialogueArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The action of `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `chat`, independent of the file.
    Chat,
    /// `complete`, for this reason.
    Complete(&'static str),
    /// `chat` if the file has a template, else `complete`.
    ByTemplate,
}

impl RunArgs {
    /// The action of these arguments for a model. `environment` is the value of `INKSTONE_RAW`.
    pub(crate) fn way(&self, model: &ModelSource, environment: Option<&str>) -> Result<Way, Error> {
        let raw = self.raw.then_some("--raw").or(self.special.given());
        match (self.dialogue.given(), raw) {
            (Some(chat), Some(raw)) => {
                Err(Error::Usage(format!("{chat} does not go with {raw}: raw text has no messages")))
            }
            (Some(_), None) => Ok(Way::Chat),
            (None, Some(raw)) => Ok(Way::Complete(raw)),
            (None, None) if is_on(environment)? => Ok(Way::Complete("INKSTONE_RAW")),
            (None, None) if *model == ModelSource::Embedded => Ok(Way::Complete("the built-in story model")),
            (None, None) => Ok(Way::ByTemplate),
        }
    }
}

/// Whether a switch in the environment is on.
fn is_on(value: Option<&str>) -> Result<bool, Error> {
    match value {
        None | Some("" | "0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(Error::Usage(format!("INKSTONE_RAW is {other:?}, allowed: 0, 1, false, true"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn way(line: &str, environment: Option<&str>) -> Result<Way, String> {
        let parsed = Arguments::try_parse_from(["inkstone", "run"].into_iter().chain(line.split_whitespace()));
        let Ok(Command::Run(args)) = parsed.map(|a| a.command) else { panic!("{line} is refused") };
        let (model, _) = args.input.sources().unwrap();
        args.way(&model, environment).map_err(|e| e.to_string())
    }

    #[test]
    fn each_row_of_the_table_has_its_way() {
        let story = "the built-in story model";
        let rows = [
            ("m.gguf Hello", None, Way::ByTemplate),
            ("m.gguf", Some("0"), Way::ByTemplate),
            ("m.gguf", Some(""), Way::ByTemplate),
            ("m.gguf --raw", None, Way::Complete("--raw")),
            ("m.gguf", Some("1"), Way::Complete("INKSTONE_RAW")),
            ("m.gguf --special", None, Way::Complete("--special")),
            ("Once", None, Way::Complete(story)),
            ("Once --system x", None, Way::Chat),
            ("m.gguf --system x", Some("1"), Way::Chat),
            ("m.gguf --template t", None, Way::Chat),
            ("m.gguf --template-var a=1", None, Way::Chat),
        ];
        for (line, environment, wanted) in rows {
            assert_eq!(way(line, environment), Ok(wanted), "{line} {environment:?}");
        }
    }

    #[test]
    fn options_of_messages_do_not_go_with_those_of_raw_text() {
        for chat in ["--system x", "--template t", "--template-var a=1"] {
            for raw in ["--raw", "--special"] {
                let option = chat.split(' ').next().unwrap();
                let wanted = format!("{option} does not go with {raw}: raw text has no messages");
                assert_eq!(way(&format!("m.gguf {chat} {raw}"), None), Err(wanted));
            }
        }
        assert_eq!(way("m.gguf", Some("x")), Err("INKSTONE_RAW is \"x\", allowed: 0, 1, false, true".to_string()));
    }
}
