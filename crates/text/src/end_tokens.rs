//! Tokens that end the answer of a model.
//!
//! A file names one or a few of them; the others are known only by their texts, which the chat formats of the models
//! list.

use crate::vocab::{TokenKind, Vocab};

/// Texts that end a turn or a document, independent of the metadata of a file.
pub(crate) const END_TEXTS: &[&str] = &[
    "<|eot_id|>",            // Llama 3
    "<|eom_id|>",            // Llama 3, before the result of a tool
    "<|im_end|>",            // ChatML
    "<|end|>",               // Phi-3
    "<|return|>",            // gpt-oss
    "<|call|>",              // gpt-oss, before the result of a tool
    "<|flush|>",             // Solar Open
    "<|calls|>",             // Solar Open
    "<end_of_turn>",         // Gemma
    "<|endoftext|>",         // GPT-2
    "<|end_of_text|>",       // Llama 3, Granite
    "<EOT>",                 // CodeLlama
    "_<EOT>",                //
    "[EOT]",                 // Kimi
    "[EOS]",                 //
    "<｜end▁of▁sentence｜>", // DeepSeek
    "<end_of_utterance>",    // SmolVLM
    "[e~[",                  // MiniMax
    "</s>",                  // Llama 2
    "<|fim_pad|>",           // Qwen, end of an infill
    "<fim-pad>",             //
    "<fim_pad>",             // StarCoder, Granite
    "<|repo_name|>",         // the next file of a repository: Qwen
    "<|file_sep|>",          //
];

/// In formats with the first two texts, the third one ends a message within a turn.
const NOT_AN_END: &[[&str; 3]] = &[["<|return|>", "<|call|>", "<|end|>"], ["<|flush|>", "<|calls|>", "<|end|>"]];

/// Texts that are also a tag of HTML, with the tag that opens it. Such a text is an end token if it is a control token in the
/// file, or if the opening one is and the text is not normal (Phi-3). In Gemma both are tags, and user-defined.
const MARKUP: &[[&str; 2]] = &[["<s>", "</s>"]];

/// Whether a closing tag is an end token.
fn ends(vocab: &Vocab, open: &str, close: u32) -> bool {
    let opens = vocab.find(open.as_bytes()).and_then(|id| vocab.kind(id)) == Some(TokenKind::Control);
    match vocab.kind(close) {
        Some(TokenKind::Control) => true,
        Some(TokenKind::Normal) => false,
        _ => opens,
    }
}

/// The ids of the texts in the table. Each of them becomes a control token, because plain text must not produce it. The
/// second result is the number of tokens that were not control tokens before.
pub(crate) fn find(vocab: &mut Vocab) -> (Vec<u32>, usize) {
    let mut ids = Vec::new();
    let mut changed = 0;
    for text in END_TEXTS {
        let Some(id) = vocab.find(text.as_bytes()) else { continue };
        if let Some([open, _]) = MARKUP.iter().find(|[_, close]| close == text)
            && !ends(vocab, open, id)
        {
            continue;
        }
        if vocab.kind(id) != Some(TokenKind::Control) {
            vocab.set_kind(id, TokenKind::Control);
            changed += 1;
        }
        ids.push(id);
    }
    for [first, second, inner] in NOT_AN_END {
        let has = |text: &str| vocab.find(text.as_bytes());
        if let (Some(_), Some(_), Some(id)) = (has(first), has(second), has(inner)) {
            ids.retain(|&end| end != id);
        }
    }
    (ids, changed)
}
