//! Words that are names of models instead of prompts.

/// Families whose name is also a model without a number: as a prompt the bare word in small letters is improbable.
const NAMES: &[&str] = &[
    "baichuan",
    "bitnet",
    "chatglm",
    "codegemma",
    "codellama",
    "codeqwen",
    "codestral",
    "command-r",
    "deepseek",
    "devstral",
    "embeddinggemma",
    "ernie",
    "exaone",
    "functiongemma",
    "gemma",
    "glm",
    "gpt",
    "hunyuan",
    "internlm",
    "jamba",
    "kimi",
    "lfm",
    "llama",
    "llava",
    "magistral",
    "medgemma",
    "minicpm",
    "minimax",
    "ministral",
    "mistral",
    "mixtral",
    "mpt",
    "nemotron",
    "nomic-embed",
    "olmo",
    "openhermes",
    "phi",
    "pythia",
    "qwen",
    "qwq",
    "rwkv",
    "shieldgemma",
    "smollm",
    "stablelm",
    "starcoder",
    "tinyllama",
    "translategemma",
    "tulu",
    "vicuna",
    "wizardlm",
];

/// Families whose name is an English word or a person's name: the name of a model also has a number.
const WORDS: &[&str] = &[
    "aya",
    "bloom",
    "cogito",
    "dolphin",
    "falcon",
    "granite",
    "hermes",
    "marco",
    "orca",
    "reflection",
    "solar",
    "yi",
    "zephyr",
];

/// Whether an argument is the name of a model instead of a prompt: a single word that begins with the name of a family
/// and continues like the name of a model, or `NAME:TAG`.
pub(crate) fn looks_like_a_name(argument: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if !argument.chars().all(plain) || !argument.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return false;
    }
    let small = argument.to_ascii_lowercase();
    let rest = |family: &str| small.strip_prefix(family).filter(|rest| rest.starts_with(goes_on)).map(str::to_string);
    NAMES.iter().any(|name| argument == *name || rest(name).is_some())
        || WORDS.iter().any(|word| rest(word).is_some_and(|rest| rest.contains(|c: char| c.is_ascii_digit())))
        || has_tag(argument)
}

/// Whether the name of a model may continue with this letter after its family: `llama3`, `phi-2`, `qwen2.5`,
/// `gemma:2b`.
fn goes_on(c: char) -> bool {
    c.is_ascii_digit() || "-.:".contains(c)
}

/// Whether an argument is `NAME:TAG`, but not a time or a drive.
fn has_tag(argument: &str) -> bool {
    argument.split_once(':').is_some_and(|(name, tag)| {
        name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && tag.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !tag.contains(':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_are_told_from_prompts() {
        let names = [
            "llama",
            "llama3",
            "llama3.2",
            "llama-3.2-1b",
            "Llama-3.2-1B-Instruct-Q4_K_M",
            "llama3.2:1b",
            "Qwen3-0.6B",
            "phi",
            "phi4-mini",
            "mistral",
            "Mistral-7B",
            "mixtral:8x7b",
            "gemma",
            "gemma3:270m",
            "deepseek-r1",
            "smollm2",
            "tinyllama",
            "gpt2",
            "gpt-oss:20b",
            "falcon-7b",
            "falcon3",
            "granite3.1-dense",
            "yi:34b",
            "command-r",
            "custom:latest",
            "qwq",
        ];
        for name in names {
            assert!(looks_like_a_name(name), "{name}");
        }
        let prompts = [
            "",
            "Once",
            "Hello",
            "Once upon a time",
            "llama 3",
            "llama!",
            "llama.",
            "llama,",
            "Llama",
            "Gemma",
            "Mistral",
            "llamas",
            "philosophy",
            "Phil",
            "falcon",
            "Falcon",
            "solar-powered",
            "granite",
            "dolphin-friendly",
            "12:30",
            "Q:",
            "A:b",
            "::",
            "a:b:c",
            "gemstone",
            "glmm",
            "Größe:3",
            "C:x",
            "note: this",
            "mistral\n",
        ];
        for prompt in prompts {
            assert!(!looks_like_a_name(prompt), "{prompt:?}");
        }
    }
}
