//! Comments and strings of a Rust source.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// One line, without its slashes.
    Comment,
    /// The content of a literal, with its escapes.
    String,
}

#[derive(Debug, PartialEq)]
pub struct Piece {
    pub kind: Kind,
    /// The line of the first byte, from 1.
    pub line: usize,
    pub text: String,
}

/// The comments and strings of a source, in order. The strings end with the module of tests at the end of a file. Block
/// comments are passed over: the project writes none.
pub fn pieces(source: &str) -> Vec<Piece> {
    let tests = source.find("#[cfg(test)]\nmod ").unwrap_or(source.len());
    let mut pieces = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let token = token(rest);
        let text = &rest[..token.length];
        match token.kind {
            Some(Kind::Comment) => {
                let text = text.trim_start_matches('/').trim_start_matches('!').to_owned();
                pieces.push(Piece { kind: Kind::Comment, line, text });
            }
            Some(Kind::String) if at < tests => {
                let text = text.trim_matches(|c| c == '#' || c == 'r').trim_matches('"').to_owned();
                pieces.push(Piece { kind: Kind::String, line, text });
            }
            _ => {}
        }
        line += text.matches('\n').count();
        at += token.length;
    }
    pieces
}

struct Token {
    /// Of a comment or a string.
    kind: Option<Kind>,
    /// In bytes, at least one.
    length: usize,
}

/// The token at the start of `rest`, as far as it takes to find comments and strings: all else goes by in single
/// characters.
fn token(rest: &str) -> Token {
    let other = |length| Token { kind: None, length };
    let first = rest.chars().next().map_or(1, char::len_utf8);
    if rest.starts_with("//") {
        return Token { kind: Some(Kind::Comment), length: rest.find('\n').unwrap_or(rest.len()) };
    }
    if rest.starts_with("/*") {
        return other(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if rest.starts_with('"') {
        return Token { kind: Some(Kind::String), length: closed(rest, '"') };
    }
    if let Some(hashes) = rest.strip_prefix('r').and_then(|raw| raw.find(|c| c != '#'))
        && rest[1 + hashes..].starts_with('"')
    {
        let start = hashes + 2;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = rest[start..].find(&end).map_or(rest.len(), |found| start + found + end.len());
        return Token { kind: Some(Kind::String), length };
    }
    if let Some(name) = rest.find(|c: char| !c.is_alphanumeric() && c != '_').filter(|&length| length > 0) {
        // A whole name, so that its last letter is not the prefix of a raw string. The prefix of a byte string ends
        // before the string.
        return other(if rest.starts_with("br") && rest[2..].starts_with(['"', '#']) { 1 } else { name });
    }
    if let Some(quoted) = rest.strip_prefix('\'') {
        // A lifetime has no second quote where a character would.
        let character = quoted.chars().next().map_or(0, char::len_utf8);
        let is_literal = quoted.starts_with('\\') || quoted[character..].starts_with('\'');
        return other(if is_literal { closed(rest, '\'') } else { first });
    }
    other(first)
}

/// The length of a literal that begins and ends with `quote`; a backslash takes the next character with it.
fn closed(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str, kind: Kind) -> Vec<(usize, String)> {
        pieces(source).into_iter().filter(|p| p.kind == kind).map(|p| (p.line, p.text)).collect()
    }

    #[test]
    fn comments_of_all_kinds_are_found_with_their_lines() {
        let source = "//! one\nfn f() {} // two\n/// three\n/* four */ let url = \"http://five\"; // six\n";
        let expected = [(1, " one"), (2, " two"), (3, " three"), (4, " six")].map(|(line, t)| (line, t.to_owned()));
        assert_eq!(texts(source, Kind::Comment), expected);
    }

    #[test]
    fn strings_end_where_they_do() {
        let source =
            "f(\"a \\\" b\", '\"', 'x', b\"c\", r#\"d \" e\"#, br\"f\", \"\\\\\");\nfn g<'a>(\n\"two\nlines\") \"h\"";
        let strings: Vec<String> = texts(source, Kind::String).into_iter().map(|(_, text)| text).collect();
        assert_eq!(strings, ["a \\\" b", "c", "d \" e", "f", "\\\\", "two\nlines", "h"]);
    }

    #[test]
    fn strings_of_the_test_module_are_left_out_but_not_its_comments() {
        let source = "const A: &str = \"a\";\n#[cfg(test)]\nmod tests {\n// why\nconst B: &str = \"b\";\n}\n";
        assert_eq!(texts(source, Kind::String), [(1, "a".to_owned())]);
        assert_eq!(texts(source, Kind::Comment), [(4, " why".to_owned())]);
    }
}
