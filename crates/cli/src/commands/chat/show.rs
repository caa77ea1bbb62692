//! `/show`: the model, the options in force, the size of the conversation.

use inkstone::{Dialogue, Limit, Model, Options};

/// The lines of `/show`. `source` is the name of the model.
pub(super) fn lines(source: &str, model: &Model, dialogue: &Dialogue, options: &Options) -> Vec<String> {
    let context = model.config().context;
    let system = dialogue.messages().first().filter(|message| message.role() == "system");
    let system = system.map_or("none".to_string(), |message| format!("{:?}", message.text().unwrap_or_default()));
    let messages = dialogue.messages().len();
    // A template may refuse a conversation without a question.
    let tokens = dialogue.tokens(options).map_or(String::new(), |tokens| format!(", {tokens} of {context} tokens"));
    vec![
        format!("model: {source}, architecture {}, context {context}", model.graph().config.arch),
        format!("options: {}", in_force(&model.generator().resolve(options)).join(", ")),
        format!("system message: {system}"),
        format!("messages: {messages}{tokens}"),
    ]
}

/// The options that have a value.
fn in_force(options: &Options) -> Vec<String> {
    fn of(name: &str, value: Option<impl ToString>) -> Option<String> {
        value.map(|value| format!("{name} {}", value.to_string()))
    }
    let limit = |limit| match limit {
        Limit::Tokens(tokens) => tokens.to_string(),
        Limit::None => "-1".to_string(),
    };
    let single = [
        of("temperature", options.temperature),
        of("top-k", options.top_k),
        of("top-p", options.top_p),
        of("typical-p", options.typical_p),
        of("min-p", options.min_p),
        of("repeat-penalty", options.repeat_penalty),
        of("frequency-penalty", options.frequency_penalty),
        of("presence-penalty", options.presence_penalty),
        of("max-tokens", options.max_tokens.map(limit)),
        of("seed", options.seed),
        of("logprobs", options.logprobs),
    ];
    let stops = options.stop.iter().map(|text| format!("stop {text:?}"));
    single.into_iter().flatten().chain(stops).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_shown_as_they_are_set() {
        let options = Options::default().temperature(0.5).top_k(3).unlimited().stop("a\n");
        assert_eq!(in_force(&options), ["temperature 0.5", "top-k 3", "max-tokens -1", "stop \"a\\n\""]);
        assert_eq!(in_force(&Options::default()), Vec::<String>::new());
    }
}
