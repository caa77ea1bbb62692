//! `template`: prints the prompt that a chat template renders for a conversation.

mod lines;
mod shown;

use super::open;
use super::tokenize::write_ids;
use crate::args::TemplateArgs;
use crate::input::Input;
use crate::signals::Signals;
use crate::{Error, output, terminal};
use inkstone::gguf::Gguf;
use inkstone::text::{Encode, MAX_SOURCE, Rendered, TemplateLimits, Tokenizer};
use inkstone::{ChatTemplate, Conversation, Message};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest size of a file or line in bytes. No model has the context for a longer conversation.
const LARGEST: u64 = 64 << 20;

pub(crate) fn template(args: &TemplateArgs, signals: &Signals) -> Result<(), Error> {
    let gguf = match args.model.given() {
        Some(path) => open::file(path)?,
        None => inkstone::embedded_file()?,
    };
    let source = args.template.as_deref().map(|path| Input::open(path)?.read(MAX_SOURCE as u64, "of a template"));
    let chat = Chat::new(&gguf, source.transpose()?, args, signals)?;
    drop(gguf);
    if args.lines {
        return lines::answer(&chat, args);
    }
    let conversation = conversation(args)?;
    let _watch = signals.watch();
    let rendered = chat.render(&chat.template, &conversation).map_err(Error::of_template)?;
    let mut out = output::stdout();
    match (args.ids, args.runs) {
        (false, false) if terminal::shows_results() => shown::coloured(&mut out, &rendered)?,
        (false, false) => out.write_all(rendered.text().as_bytes())?,
        (ids, runs) => {
            if ids {
                write_ids(&mut out, &chat.ids(&rendered)?)?;
            }
            if runs {
                writeln!(out, "{}", shown::runs(&rendered))?;
            }
        }
    }
    Ok(out.flush()?)
}

/// A chat template with its tokenizer and limits.
struct Chat {
    tokenizer: Tokenizer,
    template: ChatTemplate,
    limits: TemplateLimits,
}

impl Chat {
    fn new(gguf: &Gguf, source: Option<String>, args: &TemplateArgs, signals: &Signals) -> Result<Chat, Error> {
        let model = |error| Error::Model(inkstone::Error::Text(error));
        let tokenizer = Tokenizer::from_metadata(gguf.metadata()).map_err(model)?;
        let template = match source {
            Some(source) => ChatTemplate::new(source).map_err(Error::of_template)?,
            None => ChatTemplate::from_metadata(gguf.metadata()).map_err(Error::of_template)?.unwrap_or_default(),
        };
        if template.is_plain() && !args.lines {
            terminal::note(
                "note: the model has no chat template; a plain form is used, with a line `role: content` per message",
            );
        }
        let mut limits = args.limits.limits();
        limits.cancel = Some(signals.cancel().switch());
        Ok(Chat { tokenizer, template, limits })
    }

    fn render(&self, template: &ChatTemplate, conversation: &Conversation) -> Result<Rendered, inkstone::text::Error> {
        template.render_within(conversation, &self.tokenizer, &self.limits)
    }

    /// The tokens of the prompt, as in `chat`.
    fn ids(&self, rendered: &Rendered) -> Result<Vec<u32>, Error> {
        let ids = self.tokenizer.encode_rendered(rendered, &Encode::new().eos(false));
        ids.map_err(|error| Error::Model(inkstone::Error::Text(error)))
    }
}

fn conversation(args: &TemplateArgs) -> Result<Conversation, Error> {
    let list = |path: &Path| -> Result<Vec<Value>, Error> {
        let input = if path == Path::new("-") { Input::stdin() } else { Input::open(path)? };
        let text = input.read(LARGEST, "of a conversation")?;
        let file = path.display().to_string();
        serde_json::from_str(&text).map_err(|e| Error::Saved { file, message: format!("no JSON list: {e}") })
    };
    let file = args.messages.display().to_string();
    let wrong = |place: usize, e| Error::Saved { file: file.clone(), message: format!("message {}: {e}", place + 1) };
    let messages = list(&args.messages)?.into_iter().enumerate();
    let messages = messages.map(|(place, value)| Message::from_json(value).map_err(|e| wrong(place, e)));
    let mut conversation = Conversation::new(messages.collect::<Result<_, _>>()?).answer(!args.no_answer);
    conversation.tools = args.tools.as_deref().map_or(Ok(Vec::new()), list)?;
    conversation.documents = args.documents.as_deref().map_or(Ok(Vec::new()), list)?;
    conversation.variables.extend(args.template_var.iter().cloned());
    conversation.now = args.now.and_then(moment);
    Ok(conversation)
}

/// The time from its seconds since 1970; `None` if the clock of the system can't represent it.
fn moment(seconds: i64) -> Option<SystemTime> {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
}
