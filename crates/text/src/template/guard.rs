//! Marks in the texts of a conversation, so that no special token comes of them.

use super::{Conversation, Rendered};
use crate::{Error, Tokenizer};
use std::collections::BTreeSet;

/// Characters that may be marks, best first: noncharacters, which no text should have, then those for private use.
fn candidates() -> impl Iterator<Item = char> {
    ('\u{FDD0}'..='\u{FDEF}').chain('\u{E000}'..='\u{F8FF}')
}

/// Puts marks into texts and takes them out of what a template made of them.
pub(super) struct Guard<'t> {
    tokenizer: &'t Tokenizer,
    /// A character that neither the template nor the conversation has.
    mark: char,
    /// The texts of control tokens, ascending from their last byte to the first.
    reversed: Vec<&'t str>,
    /// With which they begin.
    firsts: BTreeSet<char>,
    longest: usize,
}

impl<'t> Guard<'t> {
    pub(super) fn new(tokenizer: &'t Tokenizer, source: &str, conversation: &Conversation) -> Result<Guard<'t>, Error> {
        let mut taken: BTreeSet<char> = BTreeSet::new();
        let mut take = |text: &str| taken.extend(text.chars().filter(|c| ('\u{E000}'..='\u{FDEF}').contains(c)));
        take(source);
        conversation.texts(&mut take);
        let mark = candidates().find(|c| !taken.contains(c)).ok_or(Error::NoMark)?;
        let mut reversed: Vec<&str> = tokenizer.specials.control_texts(&tokenizer.vocab).collect();
        reversed.sort_unstable_by(|a, b| a.bytes().rev().cmp(b.bytes().rev()));
        let firsts = reversed.iter().filter_map(|text| text.chars().next()).collect();
        let longest = reversed.iter().map(|text| text.len()).max().unwrap_or(0);
        Ok(Guard { tokenizer, mark, reversed, firsts, longest })
    }

    /// Whether a text has a character with which a control token begins.
    pub(super) fn suspects(&self, conversation: &Conversation) -> bool {
        let mut found = false;
        conversation.texts(&mut |text| found |= text.chars().any(|c| self.firsts.contains(&c)));
        found
    }

    /// The text with marks before each character at which a control token begins, and before the rest of one at its
    /// start. `eager`: before each character with which one could begin.
    pub(super) fn mark(&self, text: &str, eager: bool) -> String {
        let mut places = Vec::new();
        if self.starts_inside(text) {
            places.push(0);
        }
        if eager {
            places.extend(text.char_indices().filter(|(_, c)| self.firsts.contains(c)).map(|(at, _)| at));
        } else {
            let mut from = 0;
            while let Some(at) = self.tokenizer.specials.find_control(text, from) {
                places.push(at);
                from = at + text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        places.dedup();
        let mut out = String::with_capacity(text.len() + places.len() * self.mark.len_utf8());
        let mut done = 0;
        for at in places {
            out.push_str(&text[done..at]);
            out.push(self.mark);
            done = at;
        }
        out.push_str(&text[done..]);
        out
    }

    /// The text without marks, and where they were.
    pub(super) fn unmark(&self, marked: &str) -> Rendered {
        let mut text = String::with_capacity(marked.len());
        let mut marks = Vec::new();
        for part in marked.split_inclusive(self.mark) {
            match part.strip_suffix(self.mark) {
                Some(part) => {
                    text.push_str(part);
                    marks.push(text.len());
                }
                None => text.push_str(part),
            }
        }
        Rendered { text, marks }
    }

    /// Whether the first characters are the last of a control token, not all of it.
    fn starts_inside(&self, text: &str) -> bool {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end < self.longest);
        ends.into_iter().any(|end| {
            let head = &text[..end];
            let place = self.reversed.partition_point(|t| t.bytes().rev().lt(head.bytes().rev()));
            self.reversed[place..].iter().take_while(|t| t.ends_with(head)).any(|t| t.len() > head.len())
        })
    }
}
