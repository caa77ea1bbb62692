//! Canonical composition (Unicode Standard Annex 15, form NFC): `e` and U+0301 become `é`.
//!
//! Own code over the tables of a crate, whose iterator would take the memory for a run of marks, which a text may
//! consist of, without asking whether there is any.

use crate::Error;
use std::borrow::Cow;
use unicode_normalization::char::{canonical_combining_class, compose as pair, decompose_canonical};
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// What memory is for, in errors.
const WHAT: &str = "a text in composed form";

/// The text in composed form. It takes linear time; a text that is seen to be composed is not copied.
pub(crate) fn compose(text: &str) -> Result<Cow<'_, str>, Error> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Ok(Cow::Borrowed(text));
    }
    let mut composer = Composer::default();
    composer.out.try_reserve(text.len()).map_err(Error::memory(WHAT))?;
    for c in text.chars() {
        let mut result = Ok(());
        decompose_canonical(c, |part| {
            if result.is_ok() {
                result = composer.push(part);
            }
        });
        result?;
    }
    composer.end()?;
    Ok(Cow::Owned(composer.out))
}

/// A character that stands on the one before it.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// Its canonical combining class, above 0: marks of different classes have no order among each other.
    class: u8,
    mark: char,
}

/// Takes a decomposed text, character by character.
#[derive(Default)]
struct Composer {
    out: String,
    /// The last character that is no mark, with what was composed with it. It is not in `out` yet.
    starter: Option<char>,
    /// The marks behind it, as they came.
    marks: Vec<Mark>,
    /// Room to sort them.
    sorted: Vec<Mark>,
}

impl Composer {
    fn push(&mut self, c: char) -> Result<(), Error> {
        let class = canonical_combining_class(c);
        if class > 0 {
            self.marks.try_reserve(1).map_err(Error::memory(WHAT))?;
            self.marks.push(Mark { class, mark: c });
            return Ok(());
        }
        self.join_marks()?;
        match self.starter.filter(|_| self.marks.is_empty()).and_then(|starter| pair(starter, c)) {
            Some(joined) => self.starter = Some(joined),
            None => {
                self.write()?;
                self.starter = Some(c);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        self.join_marks()?;
        self.write()
    }

    /// Joins those marks with the starter that make one character with it and are not behind a mark of their class.
    fn join_marks(&mut self) -> Result<(), Error> {
        self.sort_marks()?;
        let Some(mut starter) = self.starter else { return Ok(()) };
        let mut last = 0;
        self.marks.retain(|&Mark { class, mark }| match pair(starter, mark).filter(|_| class > last) {
            Some(joined) => {
                starter = joined;
                false
            }
            None => {
                last = class;
                true
            }
        });
        self.starter = Some(starter);
        Ok(())
    }

    /// Sorts the marks by class; those of one class keep their order. Classes are counted, as there may be millions of
    /// marks.
    fn sort_marks(&mut self) -> Result<(), Error> {
        if self.marks.is_sorted_by_key(|mark| mark.class) {
            return Ok(());
        }
        let mut ends = [0; 256];
        self.marks.iter().for_each(|mark| ends[usize::from(mark.class)] += 1);
        let mut end = 0;
        for count in &mut ends {
            // Where the first one of the class goes, until it is there.
            end += std::mem::replace(count, end);
        }
        self.sorted.clear();
        self.sorted.try_reserve(self.marks.len()).map_err(Error::memory(WHAT))?;
        self.sorted.resize(self.marks.len(), Mark::default());
        for &mark in &self.marks {
            let place = &mut ends[usize::from(mark.class)];
            self.sorted[*place] = mark;
            *place += 1;
        }
        std::mem::swap(&mut self.marks, &mut self.sorted);
        Ok(())
    }

    /// Writes the starter and its marks.
    fn write(&mut self) -> Result<(), Error> {
        let bytes = |c: char| c.len_utf8();
        let len = self.starter.map_or(0, bytes) + self.marks.iter().map(|mark| bytes(mark.mark)).sum::<usize>();
        self.out.try_reserve(len).map_err(Error::memory(WHAT))?;
        self.out.extend(self.starter.take());
        self.out.extend(self.marks.drain(..).map(|mark| mark.mark));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_normalization::UnicodeNormalization;

    fn composed(text: &str) -> String {
        compose(text).unwrap().into_owned()
    }

    #[test]
    fn what_is_composed_is_not_copied() {
        for text in ["", "plain", "café", "日本語", "\u{AC01}", "a\u{332}b", "\0\u{10FFFF}"] {
            assert!(matches!(compose(text), Ok(Cow::Borrowed(same)) if same == text), "{text:?}");
        }
    }

    #[test]
    fn marks_join_what_they_stand_on() {
        let cases = [
            ("cafe\u{301}", "café"),
            ("\u{212B}\u{2126}", "\u{C5}\u{3A9}"),
            // Of another class than what is between, of the same class, without anything to stand on.
            ("a\u{323}\u{301}", "\u{1EA1}\u{301}"),
            ("a\u{301}\u{323}", "\u{1EA1}\u{301}"),
            ("a\u{300}\u{301}", "\u{E0}\u{301}"),
            ("a\u{315}\u{300}\u{5AE}\u{62}", "\u{E0}\u{5AE}\u{315}b"),
            ("\u{301}\u{323}a", "\u{323}\u{301}a"),
            // Three parts; a syllable of three; two that are no marks.
            ("o\u{302}\u{301}", "\u{1ED1}"),
            ("\u{1112}\u{1161}\u{11AB}\u{AC00}\u{11A8}", "\u{D55C}\u{AC01}"),
            ("\u{9C7}\u{9BE}", "\u{9CB}"),
            // What is never composed.
            ("\u{958}\u{344}", "\u{915}\u{93C}\u{308}\u{301}"),
        ];
        for (text, wanted) in cases {
            assert_eq!(composed(text), wanted, "{text:?}");
        }
    }

    /// Against the crate that the tables are of: each character alone and behind others, and random texts.
    #[test]
    fn it_is_the_form_of_the_crate() {
        let all = || ('\0'..=char::MAX).filter(|c| !c.is_ascii());
        for before in ["", "a\u{301}", "\u{1100}"] {
            for c in all() {
                let text = format!("{before}{c}\u{323}\u{3099}");
                assert_eq!(composed(&text), text.nfc().collect::<String>(), "{text:?}");
            }
        }
        let classes: Vec<char> = all().filter(|&c| canonical_combining_class(c) > 0).collect();
        let mut state = 1u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % end
        };
        for _ in 0..20_000 {
            let mut text = String::new();
            for _ in 0..below(12) {
                match below(4) {
                    0 => text.push(['a', 'o', 'e', 'ệ', '가', '\u{1112}', '\u{1161}', '\u{11AB}'][below(8)]),
                    1 => text.push(['\u{301}', '\u{323}', '\u{302}', '\u{327}', '\u{338}', '\u{345}'][below(6)]),
                    2 => text.push(classes[below(classes.len())]),
                    _ => text.extend(char::from_u32(below(0x3000) as u32)),
                }
            }
            assert_eq!(composed(&text), text.nfc().collect::<String>(), "{text:?}");
        }
    }
}
