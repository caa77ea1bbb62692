//! docs/extending.md is followed with everything that there is: each file that its lists name is there, and each line
//! that they ask for is in it, for every op, kernel, fusion, format, section, port, kind of graph, architecture,
//! engine, pre-tokenizer and filter. Code that the page
//! shows is that of the file it names.

use inkstone::compute::{Engine, EngineOptions, Pattern};
use inkstone::tensor::DTYPES;
use inkstone::{arch, engines, kvcache};
use inkstone_engine_cpu::Cpu;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// File names without their ends, of a folder.
fn stems(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// What there is of each kind, by the heading of its list.
fn existing() -> BTreeMap<&'static str, Vec<String>> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let ops = stems("crates/tensor/src/ops").into_iter().filter(|name| name != "mod").collect();
    let cpu = Cpu::new(&EngineOptions::default()).unwrap();
    let kernels = cpu.registry().kernels.iter().filter_map(|kernel| match kernel.implements {
        Pattern::Named(name) => Some(name),
        Pattern::AnyOp => None,
    });
    let formats = DTYPES.iter().filter(|i| i.decode.is_some() && i.gguf.is_some());
    let engines = engines::names().into_iter().filter(|name| name != "reference").collect();
    let table = read("crates/template/src/filters/mod.rs");
    let filters =
        table.split("row(\"").skip(1).filter_map(|rest| rest.split_once('"')).map(|(name, _)| name.to_owned());
    let step = read("crates/tensor/src/step/mod.rs");
    let sections = step
        .split("pub const SECTION_")
        .skip(1)
        .filter_map(|rest| rest.split_once(':'))
        .map(|(name, _)| name.to_owned());
    let variants = |file: &str, of: &str| -> Vec<String> {
        let code = read(file);
        let body = code.split_once(&format!("pub enum {of} {{")).and_then(|(_, rest)| rest.split_once('}')).unwrap().0;
        let lines = body.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        lines.filter_map(|line| line.strip_suffix(',')).map(str::to_owned).collect()
    };
    let pre = stems("tests/oracle/tokenizers/pre").into_iter().filter(|name| name != "texts" && name != "pairs");
    BTreeMap::from([
        ("An op", ops),
        ("A kernel", owned(kernels.collect())),
        ("A fusion", owned(inkstone::graph::fusions().collect())),
        ("A block format", formats.map(|i| i.name.to_lowercase()).collect()),
        ("A format of keys and values", owned(kvcache::FORMATS.iter().map(|f| f.name).collect())),
        ("A layer group", owned(vec!["window"])),
        ("A section of a step", sections.collect()),
        ("A port", variants("crates/compute/src/plan.rs", "What")),
        ("A kind of graph", variants("crates/graph/src/kind.rs", "Part")),
        ("An architecture", owned(arch::architectures().collect())),
        ("An engine", engines),
        ("A pre-tokenizer", pre.collect()),
        ("A filter of chat templates", filters.collect()),
    ])
}

/// A numbered line of a list, with the lines that go on with it.
struct Item<'p> {
    heading: &'p str,
    text: String,
}

fn items(page: &str) -> Vec<Item<'_>> {
    let mut items: Vec<Item> = Vec::new();
    let (mut heading, mut open) = ("", false);
    for line in page.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text;
        }
        let number = line.split_once(". ").filter(|(number, _)| number.parse::<u32>().is_ok());
        match number {
            Some((_, text)) => items.push(Item { heading, text: text.to_owned() }),
            None if open && line.starts_with("   ") => {
                let item = items.last_mut().expect("an item is open");
                item.text = format!("{} {}", item.text, line.trim());
            }
            None => {}
        }
        open = number.is_some() || open && line.starts_with("   ");
    }
    items
}

impl Item<'_> {
    /// What the item asks for and is not there, for one name. Texts in backquotes are files, or what shall be in the file
    /// before them; where files are joined by "or", in one of them. Commands, and code without a placeholder, ask nothing.
    fn missing(&self, name: &str) -> Vec<String> {
        let (mut missing, mut files) = (Vec::new(), Vec::new());
        for span in self.text.split('`').skip(1).step_by(2) {
            let text = with_name(span, name);
            if span.ends_with(".md") || span.contains('/') && !span.contains(' ') {
                if !root().join(&text).exists() {
                    missing.push(format!("{text} is not there"));
                }
                files.push(text);
            } else if text != span {
                let nearest = if self.text.contains(" or ") { 0 } else { files.len().saturating_sub(1) };
                let mut places = files[nearest..].iter().filter(|file| root().join(file).is_file());
                if !places.any(|file| has_word(&read(file), &text)) {
                    missing.push(format!("{text} is not in {}", files[nearest..].join(", ")));
                }
            }
        }
        missing
    }
}

fn with_name(text: &str, name: &str) -> String {
    let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
    let camel: String = name.split('_').map(upper).collect();
    text.replace("DTYPE", &name.to_uppercase()).replace("NAME", name).replace("Name", &camel)
}

/// Whether `word` is in the text, and not as the end or the beginning of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        !(part(before) && part(word.chars().next()) || part(after) && part(word.chars().next_back()))
    })
}

#[test]
fn every_list_is_followed_by_what_there_is() {
    let page = read("docs/extending.md");
    let (items, existing) = (items(&page), existing());
    let mut faults = Vec::new();
    for (heading, names) in &existing {
        assert!(!names.is_empty() && items.iter().any(|item| item.heading == *heading), "{heading}: {names:?}");
    }
    for item in &items {
        let names = existing.get(item.heading).unwrap_or_else(|| panic!("nothing is known of {:?}", item.heading));
        let missing: Vec<Vec<String>> = names.iter().map(|name| item.missing(name)).collect();
        // What is asked for under a condition need not be there for all.
        if item.text.starts_with("If ") && missing.iter().any(Vec::is_empty) {
            continue;
        }
        for (name, missing) in names.iter().zip(missing) {
            faults.extend(missing.into_iter().map(|fault| format!("{}, {name}: {fault}", item.heading)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_not_there_is_missed() {
    let page = "## An op\n\n1. `crates/tensor/src/ops/NAME.rs`: `struct\n   Name`, and more.\n2. `a/b.rs`\n";
    let items = items(page);
    assert_eq!((items.len(), items[0].heading), (2, "An op"));
    assert_eq!(items[0].missing("embed"), [""; 0]);
    assert_eq!(items[0].missing("nope")[0], "crates/tensor/src/ops/nope.rs is not there");
    assert_eq!(items[1].missing("embed"), ["a/b.rs is not there"]);
    let wrong = Item { heading: "", text: "`crates/tensor/src/ops/NAME.rs`: `Nameless`".to_owned() };
    assert_eq!(wrong.missing("rms_norm"), ["RmsNormless is not in crates/tensor/src/ops/rms_norm.rs"]);
    assert!(has_word("mod rms;", "mod rms;") && !has_word("mod rms_norm;", "rms") && !has_word("BTreeMap", "Map"));
}

/// Code that is not compiled where it is shown stands in the file that the link before it names.
#[test]
fn code_that_is_shown_is_that_of_its_file() {
    let page = read("docs/extending.md");
    let mut parts = page.split("```");
    let (mut file, mut shown) = (None, 0);
    while let Some(prose) = parts.next() {
        let links = prose.split("](../").skip(1).filter_map(|rest| rest.split_once(')'));
        file = links.map(|(path, _)| path).filter(|path| path.ends_with(".rs")).last().or(file);
        let Some(code) = parts.next() else { break };
        if let Some(code) = code.strip_prefix("rs\n") {
            let file = file.unwrap_or_else(|| panic!("no file is named before\n{code}"));
            assert!(read(file).contains(code), "not in {file}:\n{code}");
            shown += 1;
        } else {
            assert!(code.starts_with("rust\n"), "neither compiled nor of a file:\n{code}");
        }
    }
    assert!(shown > 5, "{shown}");
}
