//! Compares ids with another implementation, the `tokenizers` crate, on the texts of the oracle and on random texts.
//! Also shows how that crate handles very long texts, the reason why it is used only in tests.
//!
//! Both implementations take their Unicode tables from `regex-syntax`. The oracle, written by other programs, checks
//! these tables.

use inkstone_gguf::{Gguf, Metadata, OpenOptions};
use inkstone_text::{Encode, TokenKind, Tokenizer};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::NFC;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior::Isolated;

/// A pre-tokenizer in the peer's terms, with patterns as the models publish them in `tokenizer.json`.
struct Row {
    /// In `tokenizer.ggml.pre`, and of the oracle's vocabulary.
    name: &'static str,
    /// The oracle has a vocabulary of this name.
    trained: bool,
    /// Cut at both ends of each match, one pattern after the other.
    splits: &'static [&'static str],
    /// Then by GPT-2's pattern, which the peer has built in.
    gpt2_words: bool,
    /// A word that is a token is taken without merges.
    whole_words: bool,
    /// Texts are composed.
    nfc: bool,
}

const ROWS: &[Row] = &[
    Row { name: "gpt-2", trained: true, splits: &[], gpt2_words: true, whole_words: false, nfc: false },
    Row { name: "qwen2", trained: true, splits: &[QWEN2], gpt2_words: false, whole_words: false, nfc: true },
    Row { name: "llama-bpe", trained: true, splits: &[LLAMA3], gpt2_words: false, whole_words: true, nfc: false },
    Row { name: "starcoder", trained: true, splits: &[r"\p{N}"], gpt2_words: true, whole_words: false, nfc: false },
    Row { name: "qwen35", trained: true, splits: &[QWEN35], gpt2_words: false, whole_words: false, nfc: true },
    Row { name: "gpt-4o", trained: false, splits: &[GPT4O], gpt2_words: false, whole_words: false, nfc: false },
    Row { name: "deepseek-v3", trained: false, splits: DEEPSEEK_V3, gpt2_words: false, whole_words: false, nfc: false },
];
const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const QWEN35: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*",
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const GPT4O: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
const DEEPSEEK_V3: &[&str] = &[
    r"\p{N}{1,3}",
    "[一-龥\u{3040}-ゟ゠-ヿ]+",
    concat!(
        r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"##,
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
];

/// The folder of golden data that has this vocabulary: the project's own, or the one outside.
fn folder(name: &str) -> Option<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let outside = std::env::var_os("INKSTONE_ORACLE").map_or(top.join("../shared/oracle"), PathBuf::from);
    let folders = [top.join("tests/oracle/tokenizers"), outside.join("tokenizers")];
    let found = folders.into_iter().find(|folder| folder.join(format!("{name}.gguf")).exists());
    if found.is_none() {
        println!("not present: oracle/tokenizers/{name}.gguf");
    }
    found
}

fn metadata(folder: &Path, name: &str) -> Metadata {
    Gguf::open(folder.join(format!("{name}.gguf")), &OpenOptions::default()).unwrap().metadata().clone()
}

/// The texts of the oracle: the same for every vocabulary.
fn oracle_texts() -> Vec<String> {
    let path = folder("gpt-2").expect("it is in the project").join("gpt-2.json");
    let golden: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    golden["cases"].as_array().unwrap().iter().map(|case| case["text"].as_str().unwrap().to_owned()).collect()
}

/// A vocabulary of the 256 bytes and all pairs of them, with merges in random order, so that the ids show where a text
/// was cut (those of a trained one rarely do: it has few merges across words). And words that no merge makes.
fn pairs(row: &Row) -> Metadata {
    let mut bytes: Vec<String> = ByteLevel::alphabet().into_iter().map(String::from).collect();
    bytes.sort();
    let mut merges: Vec<String> = bytes.iter().flat_map(|a| bytes.iter().map(move |b| format!("{a} {b}"))).collect();
    let mut random = Random(1);
    for i in (1..merges.len()).rev() {
        merges.swap(i, random.below(i + 1));
    }
    let words = ["the", "Ġthe", "Once", "ĠOnce", "...", "123"].map(str::to_owned);
    let joined = merges.iter().map(|pair| pair.replace(' ', ""));
    let tokens: Vec<String> = bytes.into_iter().chain(joined).chain(words).collect();
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", row.name);
    metadata.insert("tokenizer.ggml.tokens", tokens.iter().map(String::as_str).collect::<Vec<_>>());
    metadata.insert("tokenizer.ggml.merges", merges.iter().map(String::as_str).collect::<Vec<_>>());
    metadata
}

/// The same vocabulary on both sides.
struct Both {
    name: String,
    ours: Tokenizer,
    peer: tokenizers::Tokenizer,
}

impl Both {
    fn new(name: String, row: &Row, metadata: &Metadata) -> Both {
        let ours = Tokenizer::from_metadata(metadata).unwrap();
        let plain = (0..ours.vocab_size() as u32).filter_map(|id| {
            let token = ours.token(id)?;
            (token.kind == TokenKind::Normal).then(|| (token.text.to_owned(), id))
        });
        let merges = metadata.strings("tokenizer.ggml.merges").unwrap().unwrap().iter().map(|merge| {
            let (left, right) = std::str::from_utf8(merge).unwrap().split_once(' ').unwrap();
            (left.to_owned(), right.to_owned())
        });
        let bpe = BPE::builder().vocab_and_merges(plain.collect::<Vocab>(), merges.collect());
        let mut peer = tokenizers::Tokenizer::new(bpe.ignore_merges(row.whole_words).build().unwrap());
        peer.with_normalizer(row.nfc.then_some(NFC)).unwrap();
        let split = |&p: &&str| Split::new(SplitPattern::Regex(p.into()), Isolated, false).unwrap();
        let mut stages: Vec<PreTokenizerWrapper> = row.splits.iter().map(split).map(Into::into).collect();
        stages.push(ByteLevel::new(false, true, row.gpt2_words).into());
        peer.with_pre_tokenizer(Some(Sequence::new(stages)));
        Both { name, ours, peer }
    }

    /// The oracle's vocabulary, if it is there.
    fn trained(row: &Row) -> Option<Both> {
        let folder = if row.trained { folder(row.name)? } else { return None };
        Some(Both::new(row.name.to_owned(), row, &metadata(&folder, row.name)))
    }

    fn pairs(row: &Row) -> Both {
        Both::new(format!("pairs, {}", row.name), row, &pairs(row))
    }

    fn our_ids(&self, text: &str) -> Vec<u32> {
        self.ours.encode(text, &Encode::plain()).unwrap()
    }

    fn peer_ids(&self, text: &str) -> Vec<u32> {
        self.peer.encode_fast(text, false).unwrap().get_ids().to_vec()
    }

    fn assert_equal(&self, text: &str, what: &str) {
        assert_eq!(
            self.our_ids(text),
            self.peer_ids(text),
            "{}, {what}: {text:?}; left ours, right the peer's",
            self.name
        );
    }
}

/// Random numbers by SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// What random texts are made of: one list is drawn, then an item of it.
const UNITS: &[&[&str]] = &[
    &["the", "Once", "upon", "TIME", "iPhone", "naïve", "e", "straße", "ſ", "ﬁ", "ǅ", "ʰ"],
    &["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'ſ", "’s", "'"],
    &["0", "7", "42", "123", "2026", "1234567", "٣", "५", "½", "Ⅷ", "²", "𝟘"],
    &[" ", " ", "  ", "\t", "\n", "\r\n", "\r", "\u{A0}", "\u{3000}", "\u{85}", "\u{2028}", "\u{200B}"],
    &[".", ",", "!?", "...", "-", "_", "(", ")", "\"", "//", "$", "€", "。", "«", "#", "=>", "\\"],
    &["😀", "👩\u{200D}🚀", "👍🏽", "🇩🇪", "❤\u{FE0F}", "☃"],
    &["Привет", "мир", "Ελλάδα", "שלום", "سلام", "नमस्ते", "สวัสดี", "გამარჯობა"],
    &["你好", "世界", "カタカナ", "ひらがな", "안녕", "\u{1112}\u{1161}"],
    &["\u{301}", "e\u{301}", "\u{64B}", "\u{94D}", "\0", "\u{7F}", "\u{FEFF}", "\u{E000}", "\u{10FFFF}"],
];

/// Up to 40 units, some of them repeated, and sometimes any character at all.
fn random_text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(40) {
        match random.below(UNITS.len() + 1) {
            list if list < UNITS.len() => {
                let times = if random.below(8) == 0 { 1 + random.below(20) } else { 1 };
                text.push_str(&random.pick(UNITS[list]).repeat(times));
            }
            _ => text.extend(char::from_u32(random.below(0x11_0000) as u32)),
        }
    }
    text
}

#[test]
fn the_same_ids_as_the_peer() {
    let oracle = oracle_texts();
    assert!(oracle.len() >= 100);
    let mut trained = 0;
    for row in ROWS {
        let found = Both::trained(row);
        trained += usize::from(found.is_some());
        for both in found.into_iter().chain([Both::pairs(row)]) {
            oracle.iter().for_each(|text| both.assert_equal(text, "oracle"));
            let normal = |&id: &u32| both.ours.token(id).is_some_and(|token| token.kind == TokenKind::Normal);
            let ids = (0..both.ours.vocab_size() as u32).filter(normal);
            let texts = ids.filter_map(|id| std::str::from_utf8(both.ours.piece(id)?).ok());
            texts.for_each(|text| both.assert_equal(text, "a token's text"));
            for seed in 0..2_000 {
                both.assert_equal(&random_text(&mut Random(seed)), &format!("seed {seed}"));
            }
        }
    }
    assert!(trained >= 2, "gpt-2 and qwen2 are in the project");
}

/// On a million spaces the peer's pattern runs out of stack; what is left of the text becomes one word, without an
/// error. When this fails, the peer is better than it was: see `bench/notes/tokenizers.md`.
#[test]
fn the_peer_loses_splits_behind_a_million_spaces() {
    let qwen2 = Both::trained(&ROWS[1]).expect("it is in the project");
    let (spaces, word) = (" ".repeat(1_000_000), " x");
    let text = format!("{spaces}x");
    // The last space goes with the x. Spaces alone are one word, also where the pattern gives up.
    let right = [qwen2.peer_ids(&spaces[1..]), qwen2.peer_ids(word)].concat();
    assert_eq!(qwen2.ours.decode(&right), text.as_bytes());
    assert!(qwen2.our_ids(&text) == right, "wrong ids for a million spaces and an x");
    assert!(qwen2.peer_ids(&text) != right, "the peer cuts a million spaces as it should");
    // The same shape, shorter: the difference is the length, not the pattern.
    qwen2.assert_equal(&text[990_000..], "10,000 spaces");
}

/// In files, lists of merges were cut and edited; what can't be used is left out.
#[test]
fn the_peer_refuses_a_merge_of_a_token_that_is_not_there() {
    let mut metadata = Metadata::new();
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "gpt-2");
    metadata.insert("tokenizer.ggml.tokens", vec!["a", "b", "ab"]);
    metadata.insert("tokenizer.ggml.merges", vec!["a c", "a b"]);
    let ours = Tokenizer::from_metadata(&metadata).unwrap();
    assert_eq!(ours.encode("ab", &Encode::plain()).unwrap(), [2]);
    let vocab: Vocab = [("a".to_owned(), 0), ("b".to_owned(), 1), ("ab".to_owned(), 2)].into();
    let merges = [("a", "c"), ("a", "b")].map(|(left, right)| (left.to_owned(), right.to_owned()));
    assert!(BPE::builder().vocab_and_merges(vocab, merges.to_vec()).build().is_err());
}

/// Time that this thread has run, so that other programs don't count; without Linux's `schedstat`, the clock.
fn own_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split_whitespace().next().and_then(|field| field.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Nanoseconds a byte: the median of five, each over a megabyte of texts, as the clock may be coarse.
fn cost(text: &str, encode: impl Fn(&str) -> Vec<u32>) -> f64 {
    let times = 1_000_000_usize.div_ceil(text.len());
    let mut runs = [(); 5].map(|()| {
        let start = own_time();
        (0..times).for_each(|_| assert!(!encode(text).is_empty()));
        own_time() - start
    });
    runs.sort();
    runs[2].as_nanos() as f64 / (times * text.len()) as f64
}

/// Only in the long form, `INKSTONE_FULL=1`. With `--nocapture` it prints the table of `bench/notes/tokenizers.md`.
#[test]
fn long_texts_take_less_time_than_in_the_peer() {
    if std::env::var_os("INKSTONE_FULL").is_none_or(|v| v != "1") {
        return;
    }
    let gpt2 = Both::trained(&ROWS[0]).expect("it is in the project");
    for unit in ["a", "ab", "the", "\u{301}", " ", "\n", "the quick brown fox "] {
        for bytes in [10_000, 100_000, 1_000_000] {
            let text = unit.repeat(bytes / unit.len());
            assert!(gpt2.our_ids(&text) == gpt2.peer_ids(&text), "{unit:?}, {bytes} bytes: other ids");
            let (ours, peer) = (cost(&text, |text| gpt2.our_ids(text)), cost(&text, |text| gpt2.peer_ids(text)));
            println!("| {unit:?} | {bytes} | {ours:.0} | {peer:.0} |");
            let long = bytes == 1_000_000;
            assert!(!long || ours < peer, "{unit:?}: {ours:.0} ns a byte, the peer takes {peer:.0}");
        }
    }
}
