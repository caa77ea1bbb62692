//! The table of pre-tokenizers, with their names in `tokenizer.ggml.pre`.
//!
//! The patterns come from the tokenizers of the models (the first is GPT-2, from which the later ones descend), in the
//! order of their passes. Where a widely used engine interprets a pattern differently and has not been compared with
//! the original, the row follows that engine, and a comment says so.

use super::Stage::{Matches, MatchesOrSpaces, Triples};
use super::{Cut, Stage};

/// A row of the table.
#[derive(Debug)]
pub(crate) struct PreTokenizer {
    /// Equivalent names. Messages show the first one.
    pub names: &'static [&'static str],
    /// Passes over the text.
    pub stages: &'static [Stage],
    /// The text is composed (NFC) before it is split, as in the tokenizers of the models. Files do not declare this.
    pub nfc: bool,
    /// A word that is a token is not merged from its bytes.
    pub whole_words: bool,
    /// The default of `tokenizer.ggml.add_bos_token`.
    pub add_bos: bool,
}

/// The row with this name.
pub(crate) fn find(name: &str) -> Option<&'static PreTokenizer> {
    TABLE.iter().find(|row| row.names.contains(&name))
}

/// All names.
pub(crate) fn known() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|row| row.names.iter().copied())
}

/// English contractions, in either case.
macro_rules! contractions {
    () => {
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    };
}
/// A word of letters, with at most one other character before it.
macro_rules! letters {
    () => {
        r"[^\r\n\p{L}\p{N}]?\p{L}+"
    };
}
/// Other characters, with a space before and line ends behind.
macro_rules! others {
    () => {
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    };
}
/// A word that changes from upper to lower case at most once; `$end` matches its optional ending.
macro_rules! cased {
    ($end:expr) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $end,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $end
        )
    };
}
/// Words after an ASCII sign, words and signs, for a pass after the passes that separate digits and ideographs.
macro_rules! after_digits {
    () => {
        concat!(
            r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"##,
            r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+"
        )
    };
}

const GPT2: Stage = MatchesOrSpaces(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+");
const LLAMA3: Stage = MatchesOrSpaces(concat!(contractions!(), "|", letters!(), r"|\p{N}{1,3}|", others!()));
const QWEN2: Stage = MatchesOrSpaces(concat!(contractions!(), "|", letters!(), r"|\p{N}|", others!()));
const QWEN35: Stage = MatchesOrSpaces(concat!(
    contractions!(),
    r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+"
));
const GPT4O: Stage = MatchesOrSpaces(concat!(
    cased!(concat!(contractions!(), "?")),
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+"
));
const TEKKEN: Stage = MatchesOrSpaces(concat!(cased!(""), r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+"));
const SEED_CODER: Stage =
    MatchesOrSpaces(concat!(contractions!(), "|", letters!(), r"|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+"));
const EXAONE_MOE: Stage = MatchesOrSpaces(concat!(
    contractions!(),
    r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]"
));
/// Han characters by block, and letters without marks, as in llama.cpp.
const KIMI_K2: Stage = MatchesOrSpaces(concat!(
    r"[\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002EBEF\uF900-\uFAFF\U0002F800-\U0002FA1F]+|",
    r"[^\r\n\p{L}\p{N}]?",
    r"[\p{L}--[\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002EBEF\uF900-\uFAFF\U0002F800-\U0002FA1F]]+",
    contractions!(),
    r"?|\p{N}{1,3}|",
    others!()
));
const AFTER_DIGITS: Stage = MatchesOrSpaces(after_digits!());
const IDEOGRAPHS: Stage = Matches(r"[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+");
/// U+8C48 as in llama.cpp. In the pattern of the model it may have been U+F900, which looks the same.
const ASIAN: Stage = Matches(concat!(
    r"[\u4E00-\u9FFF\u3400-\u4DBF\u8C48-\uFAFF\u3040-\u309F\u30A0-\u30FF\uFF65-\uFF9F\u2F00-\u2FDF\u0E40-\u0E7F",
    r"\u0E80-\u0EFF\u1780-\u17FF\u1000-\u109F\uAA60-\uAA7F\uA9E0-\uA9FF\uAC00-\uD7AF\u1100-\u11FF]+"
));
const BLOOM: Stage = Matches(r" ?[^(\s|.,!?…。，、।۔،)]+");
const DIGIT: Stage = Matches(r"\p{N}");
const THREE_DIGITS: Stage = Matches("[0-9][0-9][0-9]");
const LINE_END: Stage = Matches(r"[\r\n]");
/// These blocks without their spaces, as in llama.cpp.
const CJK: Stage = Matches(r"[[\u0800-\u9FA5\uAC00-\uD7FF]--\s]+");
/// The cased letters in the list of DeepSeek-LLM (Lu, Ll and Lt of some blocks).
const DEEPSEEK_LETTERS: Stage = Matches(concat!(
    r"\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF",
    r"\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5",
    r"\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF",
    r"\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57",
    r"\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3",
    r"\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124",
    r"\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B",
    r"\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787\uA78B-\uA78E",
    r"\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A\U00010400-\U0001044F",
    r"\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2\U00010CC0-\U00010CF2",
    r"\U000118A0-\U000118DF\U0001E900-\U0001E943]+"
));

const fn row(names: &'static [&'static str], stages: &'static [Stage]) -> PreTokenizer {
    PreTokenizer { names, stages, nfc: false, whole_words: false, add_bos: false }
}

/// A row that composes texts.
const fn nfc(names: &'static [&'static str], stages: &'static [Stage]) -> PreTokenizer {
    PreTokenizer { nfc: true, ..row(names, stages) }
}

/// The rows in any order: they are looked up by name. Names are unique (tested).
pub(crate) static TABLE: &[PreTokenizer] = &[
    row(&["default"], &[Matches(r"[\p{P}\$\+<=>\^~\|]+"), GPT2, Matches(r"\p{N}+"), THREE_DIGITS]),
    row(&["gpt-2", "jais", "trillion", "phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4"], &[GPT2]),
    row(&["granite-docling"], &[GPT2]),
    nfc(&["mpt", "olmo"], &[GPT2]),
    row(&["starcoder", "refact", "smollm", "codeshell", "exaone", "minerva-7b"], &[DIGIT, GPT2]),
    nfc(&["command-r"], &[DIGIT, GPT2]),
    row(&["falcon"], &[Matches(r"[\p{P}\$\+<=>\^~\|`]+"), GPT2, THREE_DIGITS]),
    PreTokenizer {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        stages: &[LLAMA3],
        nfc: false,
        whole_words: true,
        add_bos: true,
    },
    row(&["dbrx", "smaug-bpe", "chatglm-bpe", "glm4"], &[LLAMA3]),
    nfc(&["qwen2"], &[QWEN2]),
    row(&["stablelm2", "hunyuan", "grok-2", "solar-open", "deepseek-r1-qwen", "megrez"], &[QWEN2]),
    row(&["bailingmoe", "bailingmoe2", "llada-moe"], &[QWEN2]),
    nfc(&["qwen35"], &[QWEN35]),
    row(&["gpt-4o", "minimax-m2", "llama4", "kanana2"], &[GPT4O]),
    PreTokenizer { names: &["tekken"], stages: &[TEKKEN], nfc: false, whole_words: true, add_bos: true },
    row(&["seed-coder"], &[SEED_CODER]),
    row(&["exaone-moe"], &[EXAONE_MOE]),
    row(&["kimi-k2"], &[KIMI_K2]),
    row(&["deepseek-v3", "hunyuan-dense"], &[Matches(r"\p{N}{1,3}"), IDEOGRAPHS, AFTER_DIGITS]),
    // U+3000 counts as a space instead of a sign, as in llama.cpp.
    row(
        &["deepseek-llm"],
        &[
            LINE_END,
            DEEPSEEK_LETTERS,
            Matches(r"\s?[!-/:-~！-／：-～‘-‟\u3001-。]+"),
            Matches(r"\s+$"),
            CJK,
            Matches(r"\p{N}+"),
        ],
    ),
    row(&["deepseek-coder"], &[LINE_END, Matches(r"\s?\p{L}+"), Matches(r"\s?\p{P}+"), CJK, DIGIT]),
    row(&["poro-chat", "bloom", "gpt3-finnish"], &[BLOOM]),
    row(&["viking"], &[BLOOM, DIGIT]),
    row(&["superbpe"], &[Matches(r"\p{N}+"), Triples { class: "[0-9]", cut: Cut::Before }]),
    row(&["afmoe"], &[Triples { class: r"\p{N}", cut: Cut::After }, ASIAN, AFTER_DIGITS]),
    PreTokenizer {
        names: &["chameleon"],
        stages: &[
            Matches("<sentinel:[0-9]+>"),
            Matches("IMGIMG[A-I]{1,4}Z"),
            Matches("[\t\n]|    |  "),
            DIGIT,
            Matches(r"[\p{P}!-/:-@\[-`{-~]"),
            GPT2,
        ],
        nfc: false,
        whole_words: false,
        add_bos: true,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pre::Splitter;
    use std::collections::HashSet;

    #[test]
    fn each_name_is_there_once_and_its_patterns_compile() {
        let mut seen = HashSet::new();
        assert!(known().all(|name| seen.insert(name)));
        for row in TABLE {
            Splitter::new(row.stages);
            assert!(row.names.iter().all(|name| std::ptr::eq(find(name).unwrap(), row)));
        }
    }
}
