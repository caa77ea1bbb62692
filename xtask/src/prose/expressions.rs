//! The constructions that the project does not write, one regular expression each.

use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;

use crate::error::Error;

/// A construction, how to find it and how to write it instead.
pub struct Expression {
    pub name: &'static str,
    /// Matches the construction, in letters of any case.
    pattern: &'static str,
    /// Matches the idioms that `pattern` would take for the construction; empty without any.
    idiom: &'static str,
    /// A phrase that has the construction.
    pub bad: &'static str,
    /// The same phrase without it.
    pub good: &'static str,
}

/// The table. A sentence names its subject with a noun of the field and says with a verb of the field what it does.
pub const EXPRESSIONS: &[Expression] = &[
    Expression {
        name: "what begins a sentence",
        pattern: r"(?:^|[.:;|] )what (?:\w+|`)",
        idiom: r"(?:^|[.:;|] )what[^.:;|]*\?",
        bad: "What computes.",
        good: "A compute engine.",
    },
    Expression {
        name: "what as a noun",
        pattern: concat!(
            r"(?:[,(]| and| or| of| by| to| is| than| from| with| for| in) what ",
            r"(?:is|was|are|were|it|an?|the|they|one|can|has|had|have|does|of|comes?|goes|fails?|makes?|lies|",
            r"follows|others?|users?|people|all|each|every|kernels?|memory|remains|needs?|stands|may|must)\b"
        ),
        idiom: r"\bthis is what\b|\bmore than what\b",
        bad: "the error says what is wrong, or what fails while it is generated",
        good: "the error names the faulty field, or the failure of the generation",
    },
    Expression {
        name: "cannot be, without a verb",
        pattern: r"\b(?:can't|cannot|can not) be\b(?:[.,;:)]|$| (?:is|are|in|at|of|for|there|and|or)\b)|\bas \w+ as can be\b",
        idiom: "",
        bad: "a prompt or an option that can't be, or a failure",
        good: "an invalid prompt or option, or a failure",
    },
    Expression {
        name: "lies",
        pattern: r"\b(?:lies?|lay|lain)\b",
        idiom: "",
        bad: "the tensor lies in the file",
        good: "the tensor is stored in the file",
    },
    Expression {
        name: "that of, those of",
        pattern: r"\b(?:that|those) of\b",
        idiom: r"\bthat of course\b",
        bad: "the rows and those of the cache",
        good: "the rows and the rows of the cache",
    },
    Expression {
        name: "by with a format",
        pattern: concat!(
            r"\bby (?:[IT]?Q\d|F16|BF16|F32|AVX|K types|formats|vectors|words|mapped|plain)",
            r"|\bby `(?:[iIt]?[qQ]\d|[bB]?[fF](?:16|32))",
        ),
        idiom: "",
        bad: "decoding by Q8_0 is faster",
        good: "decoding with Q8_0 weights is faster",
    },
    Expression {
        name: "has with a rate",
        pattern: concat!(
            r"\b(?:has|had|have|having) (?:(?:some|about|only|at most|at least|up to|nearly|over) )?\d[\d.,]*",
            r"(?:(?:,| to| and| or) \d[\d.,]*)* ?(?:%|times\b|[a-z]+/s\b|\w+ a second\b)",
        ),
        idiom: "",
        bad: "a prompt has 44% of the peak",
        good: "a prompt reaches 44% of the peak",
    },
    Expression {
        name: "a for per",
        pattern: concat!(
            r"(?:\b(?:an?|one|two|three|four|many|more|fewer|\d+) (?:byte|word|value|row|token|file|line|piece|state|object|enum|",
            r"place|matrix|scale|sum|chain|step|part|folder|name|set|pair|call|column|test|op|kernel|bit|gb|mb|kb|ms)s?",
            r"|\b(?:bytes|words|rows|tokens|files|lines|pieces|objects|columns|ops|kernels|bits|one)) an? ",
            r"(?:token|step|layer|block|crate|sequence|line|group|row|thread|head|piece|model|weight|worker|second|page|",
            r"slot|value|place|panel|byte|word|tile|tensor|file|case|kernel|op|request|prompt|run|stage|call|cell|column)\b",
        ),
        idiom: "",
        bad: "one word a slot, 210 tokens a second",
        good: "one word per slot, 210 tokens per second",
    },
    Expression {
        name: "alone",
        pattern: r"\balone\b",
        idiom: r"\b(?:leaves?|left|let|leaving)(?: \w+){0,2} alone\b|\blet alone\b",
        bad: "the first row alone is read",
        good: "only the first row is read",
    },
    Expression {
        name: "beside",
        pattern: r"\bbesides?\b",
        idiom: "",
        bad: "the index beside the model file",
        good: "the index next to the model file",
    },
    Expression {
        name: "is no",
        pattern: r"\b(?:is|are|was|were) no\b",
        idiom: r"\bthere (?:is|are|was|were) no\b|\b(?:is|are|was|were) no (?:longer|more|less|better|worse|\w+er)\b",
        bad: "a path that is no file",
        good: "a path that is not a file",
    },
    Expression {
        name: "nothing but",
        pattern: r"\b(?:nothing|nobody|none)\b[^.;:]{0,40}\bbut\b|\bbut (?:for|by)\b",
        idiom: r"\b(?:like|same)\b[^.;]{0,20}, but for\b",
        bad: "the crate uses nothing of the engine but its names",
        good: "the crate uses only the names of the engine",
    },
    Expression {
        name: "from outside, of others",
        pattern: r"\bfrom outside\b|\bof others\b|\bof other hands\b",
        idiom: r"\bfrom outside (?:the|of|an?|this|its)\b",
        bad: "a kernel from outside, next to the tiles of others",
        good: "a custom kernel, next to the tiles of other workers",
    },
    Expression {
        name: "whoever, whatever",
        pattern: r"\b(?:who|what|which)ever\b|(?:^|[.:;|] )who (?:\w+)",
        idiom: r"(?:^|[.:;|] )who[^.:;|]*\?",
        bad: "whoever waits for the run helps",
        good: "any caller that waits for the run helps",
    },
    Expression {
        name: "shall",
        pattern: r"\bshall\b",
        idiom: "",
        bad: "instructions that the model shall keep to",
        good: "instructions that the model must follow",
    },
    Expression {
        name: "too at the end",
        pattern: r"\btoo(?:[.;:)|]|,(?: |$)|$)",
        idiom: "",
        bad: "the host can use them, too.",
        good: "the host can also use them.",
    },
];

/// The compiled table.
pub struct Checker(Vec<(&'static Expression, Regex)>);

impl Checker {
    pub fn new() -> Result<Self, Error> {
        let compile = |e: &'static Expression| {
            // An idiom begins where the construction does or before, so it is tried first and takes the text for itself.
            let idiom = if e.idiom.is_empty() { String::new() } else { format!("(?:{})|", e.idiom) };
            // Boundaries of ASCII words: the tables for all of Unicode are not built in.
            let pattern = format!("(?i){idiom}({})", e.pattern).replace(r"\b", r"(?-u:\b)");
            Regex::new(&pattern)
                .map(|r| (e, r))
                .map_err(|error| Error::Expression { name: e.name, error: Box::new(error) })
        };
        EXPRESSIONS.iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The constructions in a paragraph, each with the offset of its first byte, in the order of the table.
    pub fn find(&self, text: &str) -> Vec<(usize, &'static Expression)> {
        let construction = |captures: &Captures| captures.get_group(1).map(|span| span.start);
        let all = self.0.iter();
        all.flat_map(|(e, regex)| {
            regex.captures_iter(text).filter_map(|c| construction(&c)).map(|at| (at, *e)).collect::<Vec<_>>()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the constructions in `text`.
    fn names(text: &str) -> Vec<&'static str> {
        Checker::new().unwrap().find(text).into_iter().map(|(_, e)| e.name).collect()
    }

    #[test]
    fn each_expression_finds_its_bad_example_and_passes_the_good_one() {
        for e in EXPRESSIONS {
            assert!(names(e.bad).contains(&e.name), "{}: nothing found in: {}", e.name, e.bad);
            assert_eq!(names(e.good), [""; 0], "{}: {}", e.name, e.good);
        }
    }

    #[test]
    fn idioms_are_not_constructions() {
        for idiom in
            ["there is no such file", "leave it alone", "from outside the crate", "it is no longer read", "What is it?"]
        {
            assert_eq!(names(idiom), [""; 0], "{idiom}");
        }
        assert_eq!(names("There is no file that is no file."), ["is no"]);
    }

    #[test]
    fn names_are_unique() {
        for (i, e) in EXPRESSIONS.iter().enumerate() {
            assert!(EXPRESSIONS[..i].iter().all(|other| other.name != e.name), "{}", e.name);
        }
    }
}
