//! What becomes of a text before it is cut into words: tokens found by their texts, composing.

use inkstone_gguf::Metadata;
use inkstone_text::{Encode, Tokenizer};

const NORMAL: i32 = 1;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;

/// The metadata of a vocabulary: tokens of bytes, and what is given.
fn metadata(model: &str, bytes: impl Iterator<Item = (String, i32)>, more: &[(&str, i32)]) -> Metadata {
    let more = more.iter().map(|(text, kind)| (text.to_string(), *kind));
    let (tokens, kinds): (Vec<String>, Vec<i32>) = bytes.chain(more).unzip();
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", model);
    metadata.insert("tokenizer.ggml.scores", vec![0f32; tokens.len()]);
    metadata.insert("tokenizer.ggml.tokens", tokens);
    metadata.insert("tokenizer.ggml.token_type", kinds);
    metadata.insert("tokenizer.ggml.merges", Vec::<String>::new());
    metadata
}

/// Byte-level BPE: 256 bytes in the order of their characters, and what is given.
fn bpe(pre: &str, more: &[(&str, i32)]) -> Metadata {
    let chars = ('!'..='~').chain('¡'..='¬').chain('®'..='\u{143}');
    let mut metadata = metadata("gpt2", chars.map(|c| (c.to_string(), NORMAL)), more);
    metadata.insert("tokenizer.ggml.pre", pre);
    metadata
}

/// SentencePiece: 256 bytes, each its own id, and what is given.
fn spm(more: &[(&str, i32)]) -> Metadata {
    let mut metadata = metadata("llama", (0..=255).map(|b| (format!("<0x{b:02X}>"), 6)), more);
    metadata.insert("tokenizer.ggml.add_space_prefix", false);
    metadata.insert("tokenizer.ggml.add_bos_token", false);
    metadata
}

fn load(metadata: &Metadata) -> Tokenizer {
    Tokenizer::from_metadata(metadata).unwrap()
}

/// Tokens of user-defined kind are found in the text as it is written; what is between them is composed, part by part.
#[test]
fn tokens_are_found_before_a_text_is_composed() {
    let more = [("e\u{301}", USER_DEFINED), ("é!", USER_DEFINED), ("=>", USER_DEFINED), ("<eos>", CONTROL)];
    let tokenizer = load(&bpe("qwen2", &more));
    let plain = |text: &str| tokenizer.encode(text, &Encode::plain().special(true)).unwrap();
    let shown = |text: &str| String::from_utf8(tokenizer.decode(&plain(text))).unwrap();
    assert_eq!(plain("e\u{301}"), [256]);
    assert_eq!(plain("é!e\u{301}!"), [257, 256, 0]);
    // A mark that would join the token before it stays, what is apart stays apart.
    assert_eq!(shown("a\u{301}=>\u{338}a\u{301}<eos>\u{301}"), "\u{E1}=>\u{338}\u{E1}\u{301}");
    let as_it_is = load(&bpe("gpt-2", &[]));
    let ids = as_it_is.encode("a\u{301}", &Encode::plain()).unwrap();
    assert_eq!(as_it_is.decode(&ids), "a\u{301}".as_bytes());
}

#[test]
fn tokens_of_phi3_take_the_spaces_behind_them_whatever_its_name() {
    let more = [("<s>", CONTROL), ("<|user|>", CONTROL), ("<|endoftext|>", CONTROL), ("▁", NORMAL)];
    let (text, [s, user, end]) = ("<|user|> \n a<s> <|endoftext|> <|user|>  ", [256, 257, 258]);
    let ids = |metadata: &Metadata, architecture: &str, name: &str| {
        let mut metadata = metadata.clone();
        metadata.insert("general.architecture", architecture);
        metadata.insert("general.name", name);
        load(&metadata).encode(text, &Encode::plain().special(true)).unwrap()
    };
    let (space, line, a) = (259, u32::from(b'\n'), u32::from(b'a'));
    let (taken, kept) = (
        vec![user, a, s, space, end, space, user],
        vec![user, space, line, space, a, s, space, end, space, user, space, space],
    );
    let spm = spm(&more);
    assert_eq!(ids(&spm, "phi3", "A tuned model"), taken);
    assert_eq!(ids(&spm, "llama", "Phi-3 mini"), kept);
    let bpe = bpe("gpt-2", &more);
    assert_eq!(ids(&bpe, "phi3", "Phi-4 mini").len(), kept.len());
}
