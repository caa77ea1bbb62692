//! Splits a text with the stages of a pre-tokenizer.

use super::{Cut, Stage};
use crate::Error;
use regex_automata::Input;
use regex_automata::meta::Regex;

/// The index of the pattern `\s+`, which follows the pattern of [`Stage::MatchesOrSpaces`].
const SPACES: usize = 1;

/// Compiled stages. They are finite automata, which never backtrack.
pub(crate) struct Splitter {
    stages: Vec<(Regex, Stage)>,
}

/// A callback that receives the words in order.
pub(crate) type Words<'w, 't> = dyn FnMut(&'t str) -> Result<(), Error> + 'w;

impl Splitter {
    /// Compiles stages of the table. A test compiles all of them.
    pub(crate) fn new(stages: &[Stage]) -> Splitter {
        let compile = |stage: &Stage| {
            let regex = match *stage {
                Stage::Matches(pattern) => Regex::new(pattern),
                Stage::MatchesOrSpaces(pattern) => Regex::new_many(&[pattern, r"\s+"]),
                Stage::Triples { class, .. } => Regex::new(&format!("{class}+")),
            };
            (regex.expect("the patterns of the table are valid"), *stage)
        };
        Splitter { stages: stages.iter().map(compile).collect() }
    }

    /// Passes the words of a text to `words`. Their concatenation is the text, and none is empty.
    pub(crate) fn split<'t>(&self, text: &'t str, words: &mut Words<'_, 't>) -> Result<(), Error> {
        run(&self.stages, text, words)
    }
}

fn run<'t>(stages: &[(Regex, Stage)], text: &'t str, words: &mut Words<'_, 't>) -> Result<(), Error> {
    let Some(((regex, stage), rest)) = stages.split_first() else {
        return if text.is_empty() { Ok(()) } else { words(text) };
    };
    let mut done = 0;
    let mut cut = |at: usize| match text.get(done..at) {
        Some(piece) if !piece.is_empty() => {
            done = at;
            run(rest, piece, words)
        }
        _ => Ok(()),
    };
    let mut input = Input::new(text);
    while let Some(found) = regex.search(&input) {
        let (start, mut end) = (found.start(), found.end());
        match *stage {
            Stage::Triples { cut: which, .. } => triples(&text[start..end], which, |at| cut(start + at))?,
            Stage::MatchesOrSpaces(_) if found.pattern().as_usize() == SPACES && end < text.len() => {
                end = without_last_char(text, start, end);
                cut(start)?;
                cut(end)?;
            }
            _ => {
                cut(start)?;
                cut(end)?;
            }
        }
        if end <= input.start() && found.is_empty() {
            break; // no pattern of the table has an empty match
        }
        input.set_start(end);
    }
    cut(text.len())
}

/// The end of `start..end` without its last character, unless it has only one.
fn without_last_char(text: &str, start: usize, end: usize) -> usize {
    let last = text[start..end].chars().next_back().map_or(0, char::len_utf8);
    if start + last < end { end - last } else { end }
}

/// Splits a run of digits into groups of three, starting at its right end.
fn triples(run: &str, which: Cut, mut cut: impl FnMut(usize) -> Result<(), Error>) -> Result<(), Error> {
    let digits = run.chars().count();
    for (i, (at, c)) in run.char_indices().enumerate() {
        match which {
            Cut::Before if (digits - i).is_multiple_of(3) => cut(at)?,
            Cut::After if (digits - i) % 3 == 1 => cut(at + c.len_utf8())?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'t>(stages: &[Stage], text: &'t str) -> Vec<&'t str> {
        let mut out = Vec::new();
        Splitter::new(stages)
            .split(text, &mut |word| {
                out.push(word);
                Ok(())
            })
            .unwrap();
        out
    }

    #[test]
    fn the_last_space_goes_with_the_word_behind_it() {
        let stages = [Stage::MatchesOrSpaces(r" ?[a-z]+")];
        assert_eq!(words(&stages, "  a b   "), [" ", " a", " b", "   "]);
        assert_eq!(words(&stages, "a\t1\t\u{3000}1"), ["a", "\t", "1", "\t", "\u{3000}", "1"]);
        assert_eq!(words(&stages, " "), [" "]);
        assert!(words(&stages, "").is_empty());
    }

    #[test]
    fn later_stages_see_pieces() {
        let stages = [Stage::Matches(r"[0-9]"), Stage::MatchesOrSpaces(r"[a-z]+")];
        assert_eq!(words(&stages, "ab  1c"), ["ab", "  ", "1", "c"]);
    }

    #[test]
    fn digits_are_grouped_from_the_right() {
        let before = [Stage::Triples { class: "[0-9]", cut: Cut::Before }];
        assert_eq!(words(&before, "1234567a89"), ["1", "234", "567a89"]);
        assert_eq!(words(&before, "a123456"), ["a", "123", "456"]);
        let after = [Stage::Triples { class: r"\p{N}", cut: Cut::After }];
        assert_eq!(words(&after, "a1234567b89c"), ["a1", "234", "567", "b89", "c"]);
    }
}
