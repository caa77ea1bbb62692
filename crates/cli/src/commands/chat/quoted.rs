//! Texts of several lines: `"""` opens one, and the next `"""` at the end of a line closes it.

/// The quotes around a text.
const QUOTES: &str = "\"\"\"";

/// The beginnings of a line after which a text in quotes may follow. A message has no such beginning.
const BEFORE: [&str; 3] = ["", "/system ", "/set system "];

/// Whether the lines so far open a text that is not closed.
pub(super) fn is_open(lines: &str) -> bool {
    let text = BEFORE.iter().find_map(|before| lines.strip_prefix(before)?.trim_start().strip_prefix(QUOTES));
    text.is_some_and(|text| !text.trim_end().ends_with(QUOTES))
}

/// The text between quotes, without the line ends next to them; `None` if it is not in quotes.
pub(super) fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim_start().strip_prefix(QUOTES)?.trim_end().strip_suffix(QUOTES)?;
    let text = text.strip_prefix('\n').unwrap_or(text);
    Some(text.strip_suffix('\n').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_open_and_close_a_text() {
        let open = [
            "\"\"\"",
            "\"\"\"a",
            "  \"\"\"a\nb",
            "\"\"\"a\"\"\"b",
            "\"\"\"\"\"",
            "/system \"\"\"a\n",
            "/set system \"\"\"",
        ];
        for lines in open {
            assert!(is_open(lines), "{lines:?}");
            assert_eq!(unquoted(lines), None, "{lines:?}");
        }
        let closed = [
            ("\"\"\"a\nb\"\"\"", Some("a\nb")),
            ("\"\"\"\na\n\nb\n\"\"\" ", Some("a\n\nb")),
            (" \"\"\"a\"\"\"b\"\"\"", Some("a\"\"\"b")),
            ("\"\"\"\"\"\"", Some("")),
            ("\"\"\"\n\"\"\"", Some("")),
            ("a \"\"\"", None),
            ("\"\"", None),
            ("/system \"\"\"a\"\"\"", None),
            ("/save \"\"\"", None),
        ];
        for (lines, text) in closed {
            assert!(!is_open(lines), "{lines:?}");
            assert_eq!(unquoted(lines), text, "{lines:?}");
        }
    }
}
