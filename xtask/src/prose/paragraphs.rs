//! The prose of a file, in paragraphs: comments and messages of Rust, Markdown, plain text.

use std::path::Path;

/// Lines that are read as one text.
#[derive(Debug, Default, PartialEq)]
pub struct Paragraph {
    pub text: String,
    /// For each line: the offset of its first byte in `text`, and its number in the file, from 1.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    fn push(&mut self, number: usize, line: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), number));
        self.text.push_str(line);
    }

    /// The number of the line that holds the byte at `offset`.
    pub fn line(&self, offset: usize) -> usize {
        let behind = self.lines.partition_point(|(start, _)| *start <= offset);
        self.lines[..behind].last().map_or(0, |(_, number)| *number)
    }

    pub fn words(&self) -> usize {
        self.text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
    }
}

/// The prose of a file of this name, by its extension.
pub fn of_file(path: &Path, text: &str) -> Vec<Paragraph> {
    let mut paragraphs = Paragraphs::default();
    if path.extension().is_some_and(|e| e == "rs") {
        let messages = !is_test(path);
        for piece in super::rust::pieces(text) {
            match piece.kind {
                super::rust::Kind::Comment => paragraphs.line(piece.line, &piece.text),
                super::rust::Kind::String if messages => paragraphs.message(piece.line, &piece.text),
                super::rust::Kind::String => {}
            }
        }
    } else {
        for (number, line) in (1..).zip(text.lines()) {
            paragraphs.line(number, line);
        }
    }
    paragraphs.end();
    paragraphs.done
}

/// Whether the strings of a source are inputs of tests.
fn is_test(path: &Path) -> bool {
    path.components().any(|c| c.as_os_str() == "tests") || path.file_stem().is_some_and(|stem| stem == "tests")
}

/// Words from which on a string is a message.
const MESSAGE_WORDS: usize = 4;

#[derive(Default)]
struct Paragraphs {
    done: Vec<Paragraph>,
    open: Paragraph,
    /// The number of the last line.
    last: usize,
    in_code: bool,
}

impl Paragraphs {
    /// Adds a line of Markdown. Code blocks are not prose.
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if number != self.last + 1 {
            self.end();
            self.in_code = false;
        }
        self.last = number;
        if line.starts_with("```") {
            self.end();
            self.in_code = !self.in_code;
        } else if self.in_code || line.is_empty() {
            self.end();
        } else {
            if line.starts_with(['-', '*', '#', '|']) {
                self.end();
            }
            self.open.push(number, line);
        }
    }

    /// Adds a string of a source, which is a text of its own.
    fn message(&mut self, number: usize, text: &str) {
        let mut message = Paragraph::default();
        for (number, line) in (number..).zip(text.lines()) {
            message.push(number, line.trim());
        }
        if message.words() >= MESSAGE_WORDS {
            self.done.push(message);
        }
    }

    fn end(&mut self) {
        if !self.open.text.is_empty() {
            self.done.push(std::mem::take(&mut self.open));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(name: &str, text: &str) -> Vec<String> {
        of_file(Path::new(name), text).into_iter().map(|p| p.text).collect()
    }

    #[test]
    fn markdown_is_read_by_paragraph_item_and_row_without_code() {
        let text = "# Head\nOne\ntwo.\n\n- an item\n  goes on\n- next\n```sh\ncode\n```\n| a | b |\n| c | d |\n";
        let expected = ["# Head One two.", "- an item goes on", "- next", "| a | b |", "| c | d |"];
        assert_eq!(texts("a.md", text), expected);
    }

    #[test]
    fn comments_that_follow_each_other_are_one_paragraph() {
        let text = "/// One\n/// two.\nfn f() {}\n// three\n\n// four\n";
        assert_eq!(texts("a.rs", text), ["One two.", "three", "four"]);
    }

    #[test]
    fn a_string_of_four_words_is_a_message_except_in_tests() {
        let text = r#"#[error("{path} is not a file")] A, #[serde(rename = "file name")] B,"#;
        assert_eq!(texts("src/error.rs", text), ["{path} is not a file"]);
        assert_eq!(texts("src/tests.rs", text), [""; 0]);
    }

    #[test]
    fn offsets_lead_back_to_lines() {
        let paragraph = &of_file(Path::new("a.md"), "\nOne\ntwo three\n")[0];
        assert_eq!([0, 3, 4, 12].map(|at| paragraph.line(at)), [2, 2, 3, 3]);
        assert_eq!(paragraph.words(), 3);
    }
}
