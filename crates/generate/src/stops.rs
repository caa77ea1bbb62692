//! The stop rules of a generation: a state machine per sequence that receives the bytes of each token.

use std::collections::HashSet;

/// The largest number of stop texts of a request.
pub const MAX_STOPS: usize = 16;
/// The largest length of a stop text in bytes.
pub const MAX_STOP_BYTES: usize = 256;

/// End tokens and stop texts. Bytes that may be the beginning of a stop text are held back, and released when later
/// bytes show that they are not. The result does not depend on how the bytes are divided into tokens.
#[derive(Debug, Default)]
pub struct StopRules {
    ends: HashSet<u32>,
    texts: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl StopRules {
    /// Rules that end at these tokens and texts. The generator checks the texts of [`crate::Options`]; an empty text,
    /// which would always match, is ignored here.
    pub fn new(ends: impl IntoIterator<Item = u32>, texts: &[String]) -> StopRules {
        let texts = texts.iter().filter(|t| !t.is_empty()).map(|t| t.clone().into_bytes()).collect();
        StopRules { ends: ends.into_iter().collect(), texts, held: Vec::new() }
    }

    /// Whether a token is an end token.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// Receives the bytes of a token and appends the released bytes to `out`. Returns true if a stop text is complete;
    /// the stop text and all bytes after it are dropped. If several stop texts end at the same byte, the longest one
    /// counts.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        if self.texts.is_empty() {
            out.extend_from_slice(bytes);
            return false;
        }
        for byte in bytes {
            self.held.push(*byte);
            let found = self.texts.iter().filter(|t| self.held.ends_with(t)).map(Vec::len).max();
            if let Some(len) = found {
                out.extend_from_slice(&self.held[..self.held.len() - len]);
                self.held.clear();
                return true;
            }
            let keep = self.could_begin();
            out.extend(self.held.drain(..self.held.len() - keep));
        }
        false
    }

    /// Releases the bytes that are held back, after an end for another reason.
    pub fn release(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }

    /// The length of the longest suffix of the held bytes that is a prefix of a stop text.
    fn could_begin(&self) -> usize {
        let held = &self.held;
        let begins = |n: &usize| self.texts.iter().any(|t| t.len() > *n && t.starts_with(&held[held.len() - n..]));
        (1..=held.len()).rev().find(begins).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The released text, checked to be equal for every division of the input into two parts, and byte by byte.
    fn out_of(stops: &[&str], text: &str) -> (String, bool) {
        let stops: Vec<String> = stops.iter().map(|s| s.to_string()).collect();
        let run = |pieces: &[&[u8]]| {
            let mut rules = StopRules::new([], &stops);
            let mut out = Vec::new();
            let stopped = pieces.iter().any(|p| rules.feed(p, &mut out));
            if !stopped {
                rules.release(&mut out);
            }
            (String::from_utf8(out).unwrap(), stopped)
        };
        let bytes = text.as_bytes();
        let whole = run(&[bytes]);
        for cut in 0..=bytes.len() {
            assert_eq!(run(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
        }
        assert_eq!(run(&bytes.chunks(1).collect::<Vec<_>>()), whole);
        whole
    }

    #[test]
    fn stop_texts_are_found_across_token_borders() {
        assert_eq!(out_of(&["END"], "to the END of it"), ("to the ".into(), true));
        assert_eq!(out_of(&["END"], "to the EN"), ("to the EN".into(), false));
        assert_eq!(out_of(&["aab"], "aaaab"), ("aa".into(), true));
        assert_eq!(out_of(&["abcd", "bc"], "xabce"), ("xa".into(), true));
        assert_eq!(out_of(&["c", "abc"], "xabc"), ("x".into(), true));
        assert_eq!(out_of(&["é"], "café au lait"), ("caf".into(), true));
        assert_eq!(out_of(&["è"], "café"), ("café".into(), false));
        assert_eq!(out_of(&[], "all of it"), ("all of it".into(), false));
    }

    #[test]
    fn e05_a_stop_text_can_be_the_whole_output() {
        assert_eq!(out_of(&["whole"], "whole"), (String::new(), true));
        let long = "x".repeat(MAX_STOP_BYTES);
        assert_eq!(out_of(&[&long], &format!("y{long}z")), ("y".into(), true));
    }

    #[test]
    fn what_cannot_become_a_stop_text_is_not_held() {
        let mut rules = StopRules::new([7], &["stop".to_owned()]);
        let mut out = Vec::new();
        assert!(!rules.feed(b"go st", &mut out));
        assert_eq!(out, b"go ");
        assert!(!rules.feed(b"ay", &mut out));
        assert_eq!(out, b"go stay");
        assert!(rules.is_end(7) && !rules.is_end(8));
    }
}
