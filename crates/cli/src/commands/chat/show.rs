//! `/show`: the model, the options in force, the size of the conversation.

use inkstone::{Dialogue, Limit, Model, Options};

/// Letters of a system message that are shown.
const SHOWN: usize = 100;

/// The lines of `/show`. `source` is the name of the model.
pub(super) fn lines(source: &str, model: &Model, dialogue: &Dialogue, options: &Options) -> Vec<String> {
    let context = model.config().context;
    let system = dialogue.messages().first().filter(|message| message.role() == "system");
    let system = system.map_or("none".to_string(), |message| begin(message.text().unwrap_or_default()));
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

/// The first letters of a text, in quotes.
fn begin(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}..", &text[..end]),
        None => format!("{text:?}"),
    }
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
        of(
            "repeat-last-n",
            options.repeat_last_n.map(i64::from).map(|n| if n == i64::from(u32::MAX) { -1 } else { n }),
        ),
        of("frequency-penalty", options.frequency_penalty),
        of("presence-penalty", options.presence_penalty),
        of("no-repeat-ngram", options.no_repeat_ngram),
        of("max-tokens", options.max_tokens.map(limit)),
        of("min-tokens", Some(options.min_tokens).filter(|tokens| *tokens > 0)),
        of("ignore-eos", Some(true).filter(|_| options.ignore_end)),
        of("seed", options.seed),
        of("logprobs", options.logprobs),
    ];
    let biases = options.logit_bias.iter().map(|(token, bias)| format!("logit-bias {token}={bias}"));
    let banned = options.banned.iter().map(|token| format!("ban {token}"));
    let stops = options.stop.iter().map(|text| format!("stop {text:?}"));
    single.into_iter().flatten().chain(biases).chain(banned).chain(stops).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_shown_as_they_are_set() {
        let options = Options::default().temperature(0.5).top_k(3).repeat_last_n(u32::MAX).unlimited();
        let wanted = ["temperature 0.5", "top-k 3", "repeat-last-n -1", "max-tokens -1"];
        assert_eq!(in_force(&options), wanted);
        let options = Options::default().min_tokens(2).ignore_end(true).logit_bias(7, -0.5).ban([8]).stop("a\n");
        let wanted = ["min-tokens 2", "ignore-eos true", "logit-bias 7=-0.5", "ban 8", "stop \"a\\n\""];
        assert_eq!(in_force(&options), wanted);
        assert_eq!(in_force(&Options::default()), Vec::<String>::new());
    }

    #[test]
    fn a_long_system_message_is_cut() {
        assert_eq!(begin("é\n"), "\"é\\n\"");
        assert_eq!(begin(&"é".repeat(101)), format!("\"{}\"..", "é".repeat(100)));
    }
}
