//! What becomes of a text before it is cut into words: tokens found by their texts, composing, the token that begins it.

use inkstone_gguf::Metadata;
use inkstone_text::{ChatTemplate, Conversation, Encode, Message, Tokenizer};

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

#[test]
fn one_token_begins_a_text_whoever_writes_it() {
    let mut metadata = spm(&[("<s>", CONTROL), ("<x>", CONTROL), ("▁", NORMAL)]);
    metadata.insert("tokenizer.ggml.bos_token_id", 256u32);
    metadata.insert("tokenizer.ggml.add_bos_token", true);
    let tokenizer = load(&metadata);
    let (bos, space, a, line) = (256, 258, u32::from(b'a'), u32::from(b'\n'));
    let text = [60, 115, 62];
    let special =
        |text: &str, bos: Option<bool>| tokenizer.encode(text, &Encode::new().special(true).bos(bos)).unwrap();
    assert_eq!(special("a", None), [bos, a]);
    assert_eq!(special("<s>a", None), [bos, a]);
    assert_eq!(special("<s>a", Some(true)), [bos, a]);
    assert_eq!(special("<s>a", Some(false)), [bos, a]);
    assert_eq!(special(" \n<s>a", None), [space, line, bos, a]);
    // What stands there twice was written twice; what is not the first was meant otherwise.
    assert_eq!(special("<s> <s>", None), [bos, space, bos]);
    assert_eq!(special("a<s>", None), [bos, a, bos]);
    assert_eq!(special(" <x><s>", None), [bos, space, 257, bos]);
    assert_eq!(special(" ", None), [bos, space]);
    // A user's text is text.
    assert_eq!(tokenizer.encode("<s>a", &Encode::new()).unwrap(), [&[bos], &text[..], &[a]].concat());
    // Also where it is a token in any text.
    let mut defined = metadata.clone();
    defined.insert(
        "tokenizer.ggml.token_type",
        (0..259).map(|i| if i < 256 { 6 } else { USER_DEFINED }).collect::<Vec<_>>(),
    );
    assert_eq!(load(&defined).encode("<s>a", &Encode::new()).unwrap(), [bos, bos, a]);
    let rendered = |template: &str, said: &str| {
        let conversation = Conversation::new(vec![Message::user(said)]);
        let rendered = ChatTemplate::new(template).unwrap().render(&conversation, &tokenizer).unwrap();
        tokenizer.encode_rendered(&rendered, &Encode::new()).unwrap()
    };
    assert_eq!(rendered("{{ bos_token }}{{ messages[0].content }}", "a"), [bos, a]);
    assert_eq!(rendered("\n {{ bos_token }}{{ messages[0].content }}", "a"), [line, space, bos, a]);
    assert_eq!(rendered("{{ messages[0].content }}{{ bos_token }}", "\n"), [line, bos]);
    assert_eq!(rendered("{{ messages[0].content }}{{ bos_token }}", "a"), [bos, a, bos]);
    assert_eq!(rendered("{{ messages[0].content }}", "<s>"), [&[bos], &text[..]].concat());
    assert_eq!(
        rendered("\n{{ messages[0].content }}{{ bos_token }}", "<s>"),
        [&[bos, line], &text[..], &[bos]].concat()
    );
}
