//! `run`: `chat` for a model with a chat template, `complete` for raw text.

use super::chat::Chat;
use super::complete::Text;
use super::open;
use super::prompt::Prompt;
use crate::args::{PromptSource, RunArgs, Way};
use crate::signals::Signals;
use crate::{Error, input, terminal};

pub(crate) fn run(args: &RunArgs, signals: &Signals) -> Result<(), Error> {
    let (source, prompt) = args.input.sources()?;
    let way = args.way(&source, std::env::var("INKSTONE_RAW").ok().as_deref())?;
    args.output.sampling.check()?;
    let piped = prompt == PromptSource::Stdin;
    let typed = piped && input::stdin_is_terminal();
    let prompt = Prompt::open(&prompt)?;
    let text = Text::open(&args.special, &args.output)?;
    let chat = Chat::open(&args.dialogue, &args.output)?;
    let model = open::generating(&source, &args.output, signals)?;
    let raw = match way {
        Way::Complete(why) => Some(why),
        Way::ByTemplate if !model.has_chat_template() => Some("the file has no chat template"),
        Way::ByTemplate | Way::Chat => None,
    };
    match raw {
        Some(why) => {
            terminal::note(&format!("note: run continues the prompt as raw text ({why}), like `inkstone complete`"));
            text.go_on(&model, &source, prompt, signals)
        }
        None => {
            terminal::note("note: run uses the chat template of the model; --raw continues the prompt as raw text");
            let message = if typed { None } else { Some(prompt.read(&model)?) };
            if piped && message.as_deref() == Some("") {
                return Err(Error::NoMessage);
            }
            chat.talk(&model, &source, message.as_deref(), signals)
        }
    }
}
