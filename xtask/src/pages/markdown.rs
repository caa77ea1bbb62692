//! The parts of a Markdown page that are checked: fenced blocks, links, anchors.

/// A fenced block.
#[derive(Debug, PartialEq)]
pub struct Block {
    /// The words after the fence: `rust,no_run`.
    pub info: String,
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// The lines between the fences, each with its end, without the indentation of the fence.
    pub code: String,
}

impl Block {
    /// The language, without the attributes after it.
    pub fn language(&self) -> &str {
        self.info.split([',', ' ']).next().unwrap_or_default()
    }
}

/// A page, taken apart.
#[derive(Debug, Default)]
pub struct Markdown {
    pub blocks: Vec<Block>,
    /// The page with spaces in place of all code, so that lines keep their numbers.
    prose: String,
    /// Headings as they are written, without the signs before them.
    headings: Vec<String>,
}

impl Markdown {
    pub fn new(text: &str) -> Self {
        let mut page = Self::default();
        let mut fence: Option<Fence> = None;
        for (line, text) in (1..).zip(text.lines()) {
            let content = text.trim_start();
            match &fence {
                Some(open) if open.is_closed_by(content) => fence = None,
                Some(open) => {
                    let indent = open.indent.min(text.len() - content.len());
                    if let Some(block) = page.blocks.last_mut() {
                        block.code.push_str(text.get(indent..).unwrap_or(content));
                        block.code.push('\n');
                    }
                }
                None => {
                    fence = Fence::open(text);
                    if let Some(open) = &fence {
                        let info = content[open.length..].trim().to_owned();
                        page.blocks.push(Block { info, line, code: String::new() });
                    } else {
                        page.headings.extend(heading(text));
                        page.prose.push_str(text);
                    }
                }
            }
            page.prose.push('\n');
        }
        page.prose = without_spans(&page.prose);
        page
    }

    /// Targets of links and images, each with its line.
    pub fn links(&self) -> Vec<(usize, &str)> {
        const STARTS: &[&str] = &["](", "src=\"", "href=\""];
        let mut links: Vec<(usize, &str)> = Vec::new();
        for start in STARTS {
            let places = self.prose.match_indices(start).map(|(at, _)| at);
            links.extend(places.map(|at| (line_of(&self.prose, at), target(&self.prose[at + start.len()..]))));
        }
        for (line, text) in (1..).zip(self.prose.lines()) {
            if let Some((_, after)) = text.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
                links.push((line, target(after)));
            }
        }
        links.sort_unstable();
        links
    }

    /// The names that a link to a place in this page may have after `#`, as GitHub derives them from headings.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for heading in &self.headings {
            let name = slug(heading);
            let others = (1..).map(|n| format!("{name}-{n}"));
            let free = std::iter::once(name.clone()).chain(others).find(|a| !anchors.contains(a));
            anchors.extend(free);
        }
        for start in ["id=\"", "name=\""] {
            anchors.extend(self.prose.split(start).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
        anchors
    }
}

/// An open fence.
struct Fence {
    sign: char,
    length: usize,
    indent: usize,
}

impl Fence {
    fn open(line: &str) -> Option<Self> {
        let content = line.trim_start();
        let sign = content.chars().next().filter(|c| "`~".contains(*c))?;
        let length = content.chars().take_while(|c| *c == sign).count();
        (length >= 3).then_some(Self { sign, length, indent: line.len() - content.len() })
    }

    fn is_closed_by(&self, content: &str) -> bool {
        let content = content.trim_end();
        content.len() >= self.length && content.chars().all(|c| c == self.sign)
    }
}

fn heading(line: &str) -> Option<String> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim().trim_end_matches(" #").to_owned())
}

/// The text with spaces in place of code spans. A span ends with as many backquotes as it began with, in the same paragraph.
fn without_spans(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('`') {
        let (before, span) = rest.split_at(at);
        let ticks = span.len() - span.trim_start_matches('`').len();
        let (sign, inside) = span.split_at(ticks);
        done.push_str(before);
        done.push_str(sign);
        let paragraph = &inside[..inside.find("\n\n").unwrap_or(inside.len())];
        let end = runs(paragraph).find(|(_, length)| *length == ticks).map(|(at, _)| at);
        rest = inside;
        if let Some(end) = end {
            done.extend(inside[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            done.push_str(sign);
            rest = &inside[end + ticks..];
        }
    }
    done + rest
}

/// Places and lengths of runs of backquotes.
fn runs(text: &str) -> impl Iterator<Item = (usize, usize)> {
    text.match_indices('`').filter(|(at, _)| !text[..*at].ends_with('`')).map(|(at, _)| {
        let after = &text[at..];
        (at, after.len() - after.trim_start_matches('`').len())
    })
}

/// The target of a link that begins here: in angle brackets, or up to a space, a quote, or a parenthesis that it did not open.
fn target(text: &str) -> &str {
    if let Some((inside, _)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        return inside;
    }
    let mut open = 0;
    let end = text.find(|c: char| {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        open < 0 || c.is_whitespace() || c == '"'
    });
    &text[..end.unwrap_or(text.len())]
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

/// Lower case; letters, digits, `-` and `_` stay, spaces become `-`. Of a link its text counts.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        text.push_str(before);
        rest = after.get(target(after).len() + 1..).unwrap_or_default();
    }
    text.push_str(rest);
    let kept = text.trim().chars().flat_map(char::to_lowercase);
    let kept = kept.filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_language_and_line() {
        let page =
            Markdown::new("text\n```rust,no_run\nlet a = 1;\n\n```\n1. list\n   ~~~~sh\n   ls\n   ~~~\n   ~~~~\n");
        let [rust, shell] = &page.blocks[..] else { panic!("{:?}", page.blocks) };
        assert_eq!((rust.language(), rust.line, rust.code.as_str()), ("rust", 2, "let a = 1;\n\n"));
        assert_eq!((shell.language(), shell.line, shell.code.as_str()), ("sh", 7, "ls\n~~~\n"));
    }

    #[test]
    fn links_of_every_form_are_found_and_code_has_none() {
        let page = Markdown::new(
            "See [a\nb](one.md), ![c](two.svg \"title\") and [`d`](<three four.md>) [e](f(1).md).\n\
             `[no](code.md)` ``[no](`code.md)``\n```\n[no](block.md)\n```\n<img src=\"five.png\">\n[g]: six.md\n",
        );
        let expected =
            [(2, "one.md"), (2, "three four.md"), (2, "two.svg"), (2, "f(1).md"), (7, "five.png"), (8, "six.md")];
        let mut links = page.links();
        links.sort_by_key(|(line, target)| expected.iter().position(|e| e == &(*line, *target)));
        assert_eq!(links, expected);
    }

    #[test]
    fn anchors_are_those_of_github() {
        let page = Markdown::new(
            "# What's new?\n## `a_b` & C++\n### [Two](x.md) words\n## Same\n## Same\n# Ärger – Größe\n####### no\n#no\n\
             ```sh\n# no heading\n```\n<a id=\"own\"></a>\n",
        );
        let expected = ["whats-new", "a_b--c", "two-words", "same", "same-1", "ärger--größe", "own"];
        assert_eq!(page.anchors(), expected);
    }
}
