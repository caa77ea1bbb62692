//! Relative links lead to files of the repository, and their anchors to places in these.

use std::collections::BTreeMap;

use super::markdown::Markdown;

/// A fault for each link of the pages that leads nowhere. `files` are all files of the repository.
pub fn faults(pages: &BTreeMap<String, Markdown>, files: &[String]) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, page) in pages {
        for (line, link) in page.links() {
            if let Err(why) = follow(name, link, pages, files) {
                faults.push(format!("{name}:{line}: {link}: {why}"));
            }
        }
    }
    faults
}

fn follow(from: &str, link: &str, pages: &BTreeMap<String, Markdown>, files: &[String]) -> Result<(), String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(());
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path =
        if path.is_empty() { from.to_owned() } else { joined(from, path).ok_or("leads out of the repository")? };
    let is_folder =
        path.is_empty() || files.iter().any(|f| f.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/')));
    if !is_folder && !files.contains(&path) {
        return Err(format!("there is no {path}"));
    }
    match (anchor, pages.get(&path)) {
        (None, _) => Ok(()),
        (Some(anchor), Some(page)) if page.anchors().iter().any(|a| a == anchor) => Ok(()),
        (Some(anchor), Some(page)) => {
            Err(format!("{path} has no heading #{anchor}; it has {}", page.anchors().join(", ")))
        }
        (Some(anchor), None) => Err(format!("{path} has no headings, so no #{anchor}")),
    }
}

/// `path` as seen from the folder of `from`, without `.` and `..`; `None` above the top.
fn joined(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(text: &str) -> Vec<String> {
        let other = Markdown::new("# A heading\n");
        let pages = BTreeMap::from([("docs/a.md".to_owned(), Markdown::new(text)), ("README.md".to_owned(), other)]);
        let files = ["docs/a.md", "README.md", "src/main.rs"].map(str::to_owned);
        faults(&pages, &files)
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Here\n[a](#here) [b](../README.md#a-heading) [c](../src) [d](..) [e](../src/main.rs) [f](https://a.b/#c)\n";
        assert_eq!(faults_of(text), [""; 0]);
    }

    #[test]
    fn each_broken_link_is_named_with_its_line() {
        let text =
            "# Here\n\n[a](b.md)\n[c](#there) [d](../README.md#no)\n[e](../../x) [f](../src/main.rs#main) [g](../sr)\n";
        let expected = [
            "docs/a.md:3: b.md: there is no docs/b.md",
            "docs/a.md:4: #there: docs/a.md has no heading #there; it has here",
            "docs/a.md:4: ../README.md#no: README.md has no heading #no; it has a-heading",
            "docs/a.md:5: ../../x: leads out of the repository",
            "docs/a.md:5: ../sr: there is no sr",
            "docs/a.md:5: ../src/main.rs#main: src/main.rs has no headings, so no #main",
        ];
        assert_eq!(faults_of(text), expected);
    }
}
