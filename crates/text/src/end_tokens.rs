//! Tokens after which a model has nothing more to say.
//!
//! A file names one or a few of them; others are known by their texts only. Lists: the chat formats of the models.

use crate::vocab::{TokenKind, Vocab};

/// Texts that end a turn or a document, whatever a file says about them.
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
    "<|fim_pad|>",           // end of what goes in the middle: Qwen
    "<fim-pad>",             //
    "<fim_pad>",             // StarCoder, Granite
    "<|repo_name|>",         // the next file of a repository: Qwen
    "<|file_sep|>",          //
];

/// In formats with the first two, the third ends a message within a turn.
const NOT_AN_END: &[[&str; 3]] = &[["<|return|>", "<|call|>", "<|end|>"], ["<|flush|>", "<|calls|>", "<|end|>"]];

/// Plain text too (struck out, in HTML): the end of texts only where a file marks it in some way.
const MARKUP: &[&str] = &["</s>"];

/// The ids of the table's texts. One that is not a control token becomes one, as it must not be made out of plain
/// text; how many did is the second result.
pub(crate) fn find(vocab: &mut Vocab) -> (Vec<u32>, usize) {
    let mut ids = Vec::new();
    let mut changed = 0;
    for text in END_TEXTS {
        let Some(id) = vocab.find(text.as_bytes()) else { continue };
        if MARKUP.contains(text) && vocab.kind(id) == Some(TokenKind::Normal) {
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
