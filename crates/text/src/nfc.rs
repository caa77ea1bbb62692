//! Canonical composition (Unicode Standard Annex 15, form NFC): `e` and U+0301 become `é`.
//!
//! This is our own code over the tables of a crate. The iterator of that crate aborts the program if the memory for a
//! run of marks, which may be as long as the text, can't be allocated.

use crate::Error;
use std::borrow::Cow;
use unicode_normalization::char::{canonical_combining_class, compose as pair, decompose_canonical};
use unicode_normalization::{IsNormalized, is_nfc_quick};

/// The purpose of an allocation, in errors.
const WHAT: &str = "a text in composed form";

/// Composes a text in linear time. A text that is already composed is not copied if a quick check shows it.
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

/// A combining character.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// Its canonical combining class, above 0. The order of marks with different classes has no meaning.
    class: u8,
    mark: char,
}

/// Composes a decomposed text character by character.
#[derive(Default)]
struct Composer {
    out: String,
    /// The last character that is not a mark, with the characters composed into it. It has not been written to `out`.
    starter: Option<char>,
    /// The marks after it, in the order of the text.
    marks: Vec<Mark>,
    /// Scratch memory to sort them.
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

    /// Composes the starter with each mark that forms one character with it and does not follow a mark of the same
    /// class.
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

    /// Sorts the marks by class and keeps the order within each class. This is a counting sort, because there may be
    /// millions of marks.
    fn sort_marks(&mut self) -> Result<(), Error> {
        if self.marks.is_sorted_by_key(|mark| mark.class) {
            return Ok(());
        }
        let mut ends = [0; 256];
        self.marks.iter().for_each(|mark| ends[usize::from(mark.class)] += 1);
        let mut end = 0;
        for count in &mut ends {
            // The index of the next mark of the class.
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
            // A mark of another class than the mark before it, one of the same class, one without a starter.
            ("a\u{323}\u{301}", "\u{1EA1}\u{301}"),
            ("a\u{301}\u{323}", "\u{1EA1}\u{301}"),
            ("a\u{300}\u{301}", "\u{E0}\u{301}"),
            ("a\u{315}\u{300}\u{5AE}\u{62}", "\u{E0}\u{5AE}\u{315}b"),
            ("\u{301}\u{323}a", "\u{323}\u{301}a"),
            // Three parts; a syllable of three; two characters that are not marks.
            ("o\u{302}\u{301}", "\u{1ED1}"),
            ("\u{1112}\u{1161}\u{11AB}\u{AC00}\u{11A8}", "\u{D55C}\u{AC01}"),
            ("\u{9C7}\u{9BE}", "\u{9CB}"),
            // Characters that are excluded from composition.
            ("\u{958}\u{344}", "\u{915}\u{93C}\u{308}\u{301}"),
        ];
        for (text, wanted) in cases {
            assert_eq!(composed(text), wanted, "{text:?}");
        }
    }

    /// Compares each character, on its own and after others, and random texts with the crate that provides the tables.
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
