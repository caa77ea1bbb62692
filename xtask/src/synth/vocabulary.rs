//! Vocabularies of real size with made-up tokens: each is two earlier ones put together, so that every merge is valid.

use std::collections::HashMap;

use inkstone_gguf::{Metadata, Strings};

use super::random::Random;

/// A vocabulary and the metadata that make it one.
pub struct Vocabulary {
    kind: Kind,
    /// Tokens that are two others put together.
    grown: usize,
    /// Tokens with a meaning of their own, in order: behind the grown ones (byte-level BPE) or before them (SPM).
    specials: &'static [&'static str],
    /// Special tokens that fill the vocabulary up: how many, the text before their number, and their type.
    fillers: (usize, &'static str, i32),
    bos: Option<u32>,
    eos: u32,
}

enum Kind {
    /// Byte-level BPE: the name of the pre-tokenizer, and how many merges at most; a token may have several.
    Bpe { pre: &'static str, merges: usize },
    /// SentencePiece's BPE: scores instead of merges; whether a text gets a space before it.
    Spm { space_prefix: bool },
}

// Types of tokens in a file.
const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const UNUSED: i32 = 5;
const BYTE: i32 = 6;

pub const LLAMA_3: Vocabulary = Vocabulary {
    kind: Kind::Bpe { pre: "llama-bpe", merges: 280_147 },
    grown: 127_744,
    specials: &[
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|reserved_a|>",
        "<|reserved_b|>",
        "<|finetune_right_pad_id|>",
        "<|reserved_c|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|python_tag|>",
    ],
    fillers: (245, "<|reserved_special_token_", CONTROL),
    bos: Some(128_000),
    eos: 128_009,
};

pub const QWEN_2: Vocabulary = Vocabulary {
    kind: Kind::Bpe { pre: "qwen2", merges: 151_387 },
    grown: 151_387,
    specials: &["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
    fillers: (290, "<|pad_", UNUSED),
    bos: None,
    eos: 151_645,
};

pub const TINYLLAMA: Vocabulary = Vocabulary {
    kind: Kind::Spm { space_prefix: true },
    grown: 31_714,
    specials: &[UNKNOWN_TEXT, "<s>", "</s>"],
    fillers: (0, "", UNUSED),
    bos: Some(1),
    eos: 2,
};

pub const GEMMA_3: Vocabulary = Vocabulary {
    kind: Kind::Spm { space_prefix: false },
    grown: 261_854,
    specials: &["<pad>", "<eos>", "<bos>", UNKNOWN_TEXT, "<mask>", "<start_of_turn>", "<end_of_turn>"],
    fillers: (0, "", UNUSED),
    bos: Some(2),
    eos: 1,
};

/// The special token of characters without a token.
const UNKNOWN_TEXT: &str = "<unk>";

/// Letters about as often as English has them.
const LETTERS: &[u8] = b"eeeeeeettttttaaaaaoooooiiiiinnnnnsssshhhhrrrrdddllluuccmmwffgypbvkjxqz";

/// Bytes of a token at most.
const LONGEST: usize = 16;

/// Single letters that a vocabulary without bytes as tokens begins with.
const ALPHABET: &[u8] = b" abcdefghijklmnopqrstuvwxyz";

impl Vocabulary {
    pub fn tokens(&self) -> usize {
        let single = match self.kind {
            Kind::Bpe { .. } => 256,
            Kind::Spm { .. } => 256 + ALPHABET.len(),
        };
        single + self.grown + self.specials.len() + self.fillers.0
    }

    /// Adds the keys `tokenizer.*`.
    pub fn describe(&self, seed: u64, metadata: &mut Metadata) {
        match self.kind {
            Kind::Bpe { pre, merges } => self.describe_bpe(pre, merges, seed, metadata),
            Kind::Spm { space_prefix } => self.describe_spm(space_prefix, seed, metadata),
        }
        if let Some(bos) = self.bos {
            metadata.insert("tokenizer.ggml.bos_token_id", bos);
        }
        metadata.insert("tokenizer.ggml.add_bos_token", self.bos.is_some());
        metadata.insert("tokenizer.ggml.eos_token_id", self.eos);
    }

    fn describe_bpe(&self, pre: &str, merges: usize, seed: u64, metadata: &mut Metadata) {
        let single: Vec<Token> = (0..=255u8).map(|b| Token { text: vec![b], left: 0 }).collect();
        let tokens = grow(single, self.grown, true, seed);
        metadata.insert("tokenizer.ggml.model", "gpt2");
        metadata.insert("tokenizer.ggml.pre", pre);
        let (filling, before, filling_type) = self.fillers;
        let special = self.specials.iter().map(|s| (*s).to_owned());
        let filling = (0..filling).map(|i| format!("{before}{i}|>"));
        let texts = tokens.iter().map(|t| byte_chars(&t.text)).chain(special).chain(filling);
        metadata.insert("tokenizer.ggml.tokens", texts.collect::<Strings>());
        let mut types = vec![NORMAL; tokens.len()];
        types.resize(types.len() + self.specials.len(), CONTROL);
        types.resize(self.tokens(), filling_type);
        metadata.insert("tokenizer.ggml.token_type", types);
        metadata.insert("tokenizer.ggml.merges", merges_of(&tokens, merges));
    }

    fn describe_spm(&self, space_prefix: bool, seed: u64, metadata: &mut Metadata) {
        let single: Vec<Token> = ALPHABET.iter().map(|b| Token { text: vec![*b], left: 0 }).collect();
        let mut grown = grow(single, self.grown, false, seed);
        // As in the real files, single letters come last.
        grown.rotate_left(ALPHABET.len());
        metadata.insert("tokenizer.ggml.model", "llama");
        let special = self.specials.iter().map(|s| (*s).to_owned());
        let bytes = (0..=255u8).map(|b| format!("<0x{b:02X}>"));
        let pieces = grown.iter().map(|t| String::from_utf8_lossy(&t.text).replace(' ', "\u{2581}"));
        metadata.insert("tokenizer.ggml.tokens", special.chain(bytes).chain(pieces).collect::<Strings>());
        let before = self.specials.len() + 256;
        let mut scores = vec![0.0f32; before];
        scores.extend((0..grown.len()).map(|i| -(i as f32)));
        metadata.insert("tokenizer.ggml.scores", scores);
        let unknown = |text: &&str| **text == *UNKNOWN_TEXT;
        let mut types: Vec<i32> =
            self.specials.iter().map(|text| if unknown(text) { UNKNOWN } else { CONTROL }).collect();
        types.resize(before, BYTE);
        types.resize(self.tokens(), NORMAL);
        metadata.insert("tokenizer.ggml.token_type", types);
        let unknown = self.specials.iter().position(unknown).unwrap_or(0);
        metadata.insert("tokenizer.ggml.unknown_token_id", unknown as u32);
        metadata.insert("tokenizer.ggml.add_space_prefix", space_prefix);
    }
}

/// A token's bytes, of which the first `left` are the left part of its merge.
struct Token {
    text: Vec<u8>,
    left: usize,
}

/// Pools of tokens from which parts are drawn, by their possible neighbours in a text.
#[derive(Clone, Copy)]
enum Pool {
    /// A space with the following letters.
    Begin,
    /// Letters inside a word.
    Inside,
    /// Bytes of scripts other than ASCII.
    Other,
}

/// The pool of the left part, which is also the pool of the whole, the pool of the right part, and the frequency out of
/// 16.
const GROWTH: &[(Pool, Pool, u64)] =
    &[(Pool::Begin, Pool::Inside, 8), (Pool::Inside, Pool::Inside, 5), (Pool::Other, Pool::Other, 3)];

/// `single` and `count` more, each of two before it.
fn grow(single: Vec<Token>, count: usize, other: bool, seed: u64) -> Vec<Token> {
    let mut random = Random::new(seed);
    let mut tokens = single;
    let mut known: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut pools: [Vec<u32>; 3] = Default::default();
    for (id, token) in (0..).zip(&tokens) {
        known.insert(token.text.clone(), id);
        match token.text[0] {
            b' ' => pools[Pool::Begin as usize].push(id),
            128.. => pools[Pool::Other as usize].push(id),
            _ => {}
        }
    }
    pools[Pool::Inside as usize].extend(LETTERS.iter().filter_map(|b| known.get([*b].as_slice())));
    let wanted = tokens.len() + count;
    while tokens.len() < wanted {
        let (left, right) = growth(&mut random, other);
        let parts = [left, right].map(|pool| {
            // Early and short ones often, so that most tokens come apart in more ways than one, as real ones do.
            let ids = &pools[pool as usize];
            ids[(random.unit().powi(10) * ids.len() as f32) as usize % ids.len()] as usize
        });
        let text = [tokens[parts[0]].text.as_slice(), &tokens[parts[1]].text].concat();
        if text.len() <= LONGEST && !known.contains_key(&text) {
            let id = tokens.len() as u32;
            known.insert(text.clone(), id);
            pools[left as usize].push(id);
            tokens.push(Token { left: tokens[parts[0]].text.len(), text });
        }
    }
    tokens
}

fn growth(random: &mut Random, other: bool) -> (Pool, Pool) {
    let all: u64 = GROWTH.iter().map(|row| row.2).sum();
    let mut drawn = random.next() % all;
    for (left, right, often) in GROWTH {
        if drawn < *often && (other || !matches!(left, Pool::Other)) {
            return (*left, *right);
        }
        drawn = drawn.saturating_sub(*often);
    }
    (Pool::Begin, Pool::Inside)
}

/// Merges in the order of the tokens that they make: first the one that made it, then, while there are less than
/// `most`, every other pair of earlier tokens.
fn merges_of(tokens: &[Token], most: usize) -> Strings {
    let ids: HashMap<&[u8], usize> = tokens.iter().enumerate().map(|(id, t)| (t.text.as_slice(), id)).collect();
    let grown = || tokens.iter().enumerate().filter(|(_, t)| t.left > 0);
    let mut spare = most.saturating_sub(grown().count());
    let mut merges = Strings::new();
    for (id, token) in grown() {
        let mut add = |left: usize| {
            let (left, right) = token.text.split_at(left);
            merges.push(format!("{} {}", byte_chars(left), byte_chars(right)));
        };
        add(token.left);
        for left in (1..token.text.len()).filter(|l| *l != token.left) {
            let (l, r) = token.text.split_at(left);
            let earlier = |part: &[u8]| ids.get(part).is_some_and(|p| *p < id);
            if spare > 0 && earlier(l) && earlier(r) {
                spare -= 1;
                add(left);
            }
        }
    }
    merges
}

/// Bytes in the letters that byte-level BPE writes them with: those that print stand for themselves, the others for
/// letters from 256 up.
fn byte_chars(bytes: &[u8]) -> String {
    let prints = |b: u8| matches!(b, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let shown = |b: u8| {
        if prints(b) {
            return char::from(b);
        }
        let hidden_before = (0..b).filter(|b| !prints(*b)).count() as u32;
        char::from_u32(256 + hidden_before).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    bytes.iter().map(|b| shown(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(vocabulary: &Vocabulary) -> Metadata {
        let mut metadata = Metadata::new();
        vocabulary.describe(1, &mut metadata);
        metadata
    }

    fn texts(metadata: &Metadata, key: &str) -> Vec<String> {
        metadata.strings(key).unwrap().unwrap().iter().map(|s| String::from_utf8(s.to_vec()).unwrap()).collect()
    }

    #[test]
    fn sizes_are_those_of_the_real_files() {
        for (vocabulary, size) in [(&LLAMA_3, 128_256), (&QWEN_2, 151_936), (&TINYLLAMA, 32_000), (&GEMMA_3, 262_144)] {
            assert_eq!(vocabulary.tokens(), size);
            let metadata = described(vocabulary);
            let tokens = texts(&metadata, "tokenizer.ggml.tokens");
            assert_eq!(tokens.len(), size);
            assert_eq!(metadata.i32s("tokenizer.ggml.token_type").unwrap().unwrap().len(), size);
            let distinct: std::collections::HashSet<&String> = tokens.iter().collect();
            assert_eq!(distinct.len(), size);
        }
        assert_eq!(texts(&described(&LLAMA_3), "tokenizer.ggml.merges").len(), 280_147);
        assert_eq!(texts(&described(&QWEN_2), "tokenizer.ggml.merges").len(), 151_387);
    }

    #[test]
    fn merges_have_tokens_as_parts_and_results_and_none_comes_twice() {
        let metadata = described(&LLAMA_3);
        let tokens: std::collections::HashSet<String> = texts(&metadata, "tokenizer.ggml.tokens").into_iter().collect();
        let merges = texts(&metadata, "tokenizer.ggml.merges");
        for merge in &merges {
            let (left, right) = merge.split_once(' ').unwrap();
            assert!([left, right, &format!("{left}{right}")].iter().all(|t| tokens.contains(*t)), "{merge}");
        }
        let distinct: std::collections::HashSet<&String> = merges.iter().collect();
        assert_eq!(distinct.len(), merges.len());
    }

    #[test]
    fn special_tokens_are_where_the_metadata_say() {
        let metadata = described(&LLAMA_3);
        let tokens = texts(&metadata, "tokenizer.ggml.tokens");
        assert_eq!((tokens[128_000].as_str(), tokens[128_009].as_str()), ("<|begin_of_text|>", "<|eot_id|>"));
        assert_eq!(texts(&described(&QWEN_2), "tokenizer.ggml.tokens")[151_645], "<|im_end|>");
    }

    #[test]
    fn bytes_are_written_as_by_gpt_2() {
        assert_eq!(byte_chars(b" a\n\xc3"), "\u{120}a\u{10a}\u{c3}");
    }
}
