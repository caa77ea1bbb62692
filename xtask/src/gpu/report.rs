//! The table of docs/gpu.md, made of the results of one or more cards.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::results::{self, Line};
use crate::bench::stamp;
use crate::block;
use crate::error::Error;

/// The name of the block of the page.
const BLOCK: &str = "gpu";

/// Shares of the card's read ceiling that decoding is to reach.
const GOALS: &[(&str, f64)] =
    &[("llama-3.1-8b-q8_0", 0.60), ("llama-3.2-1b-q8_0", 0.35), ("llama-3.1-8b-q4_k_m", 0.40)];

/// The depths of decoding.
const DEPTHS: [f64; 2] = [0.0, 4096.0];
/// Rows of products.
const ROWS: [f64; 3] = [1.0, 8.0, 512.0];
/// The shapes whose kernels have rows.
const SHAPES: &str = "8b";

/// Writes the results in these files into the page.
pub fn write(root: &Path, files: &[&str]) -> Result<(), Error> {
    let mut text = String::new();
    for file in files {
        let path = Path::new(file);
        let lines = results::read(path)?;
        let card = Card::of(&lines).map_err(|what| Error::Peer { name: (*file).to_owned(), what })?;
        text += &format!("{}{}\n", if text.is_empty() { "" } else { "\n" }, card.text());
        for fault in results::faults(&lines, &[]) {
            eprintln!("{file}: {fault}");
        }
    }
    let (path, page) = block::replaced(root.join("docs/gpu.md"), BLOCK, &text)?;
    fs::write(&path, page).map_err(|source| Error::File { path: path.clone(), source })?;
    print!("{text}");
    Ok(())
}

/// The results of a card.
struct Card<'a> {
    lines: &'a [Line],
    /// The line that describes it.
    device: &'a Line,
    /// Its read ceiling in GB/s.
    ceiling: f64,
}

impl<'a> Card<'a> {
    fn of(lines: &'a [Line]) -> Result<Self, String> {
        let first = |name: &str| lines.iter().find(|line| line.is(name)).ok_or_else(|| format!("has no wgpu.{name}"));
        let device = first("limits.memory")?;
        if device.text("kind") == Some("software") {
            return Err("is of a driver that computes on the CPU, whose figures are not of interest".to_owned());
        }
        let ceiling = first("ceiling.read")?.value.filter(|value| *value > 0.0);
        Ok(Self { lines, device, ceiling: ceiling.ok_or("has no read ceiling")? })
    }

    fn text(&self) -> String {
        let field = |name: &str| self.device.text(name).unwrap_or("unknown");
        let memory = self.device.value.unwrap_or(0.0) / 1e9;
        let begun = self.named("session.begun").next();
        let date = begun.and_then(|line| line.value).map_or_else(String::new, |s| stamp::date((s / 86_400.0) as u64));
        let commit = begun.and_then(|line| line.text("commit")).unwrap_or("unknown");
        let mut text = format!(
            "{} ({}), {memory:.0} GB; {date}, commit {commit}; a kernel that only reads gets {:.0} GB/s:\n\n",
            field("device"),
            field("driver"),
            self.ceiling
        );
        text += &self.models();
        text.push('\n');
        text += &self.kernels();
        let _ = write!(text, "\n{}", self.verdicts());
        text
    }

    /// The lines with this name.
    fn named(&self, name: &'static str) -> impl Iterator<Item = &'a Line> + use<'a> {
        self.lines.iter().filter(move |line| line.is(name))
    }

    /// Decoding and prompts of each model and variant.
    fn models(&self) -> String {
        let mut text = "| model | variant | decoding, of read | goal | after 4,096 tokens, of read | prompt of 512 |\n\
                        |---|---|---:|---:|---:|---:|\n"
            .to_owned();
        let mut done: Vec<(&str, &str)> = Vec::new();
        for line in self.named("models.decode") {
            let key = key(line, ["model", "isa"]);
            if done.contains(&key) {
                continue;
            }
            done.push(key);
            let of = |name: &'static str, depth: f64| {
                let found = self
                    .named(name)
                    .find(|l| self::key(l, ["model", "isa"]) == key && l.number("depth") == Some(depth));
                found.and_then(|line| Some((line.value?, line.number("token_bytes").unwrap_or(0.0))))
            };
            let share = |(rate, bytes): (f64, f64)| rate * bytes / 1e9 / self.ceiling;
            let [first, deep] = DEPTHS.map(|depth| of("models.decode", depth));
            let shown = |found: Option<(f64, f64)>| {
                found.map_or_else(String::new, |(rate, bytes)| format!("{rate:.1}, {}", percent(share((rate, bytes)))))
            };
            let goal = GOALS.iter().find(|(model, _)| *model == key.0).map(|(_, goal)| *goal);
            let goal = goal.map_or_else(String::new, |goal| {
                let met = first.is_some_and(|found| share(found) >= goal);
                format!("{}: {}", percent(goal), if met { "met" } else { "**not met**" })
            });
            let prompt = of("models.prefill", 0.0).map_or_else(String::new, |(rate, _)| format!("{rate:.0}"));
            let _ =
                writeln!(text, "| {} | {} | {} | {goal} | {} | {prompt} |", key.0, key.1, shown(first), shown(deep));
        }
        text
    }

    /// The kernels that read matrices and caches.
    fn kernels(&self) -> String {
        let mut text = "| kernel | region | format | variant | 1 row: GB/s, of read | 8 rows | 512 rows: TFLOP/s |\n\
                        |---|---|---|---|---:|---:|---:|\n"
            .to_owned();
        let key = |line: &'a Line| ["kernel", "op", "format", "isa"].map(|field| line.text(field).unwrap_or(""));
        let measured: Vec<&Line> = self
            .named("kernels.read")
            .filter(|l| l.text("shapes") == Some(SHAPES) && l.text("format").is_some())
            .collect();
        let mut done = Vec::new();
        for line in &measured {
            let row = key(line);
            if done.contains(&row) {
                continue;
            }
            done.push(row);
            let cell = |rows: f64| -> Option<String> {
                let line = measured.iter().find(|line| key(line) == row && line.number("rows") == Some(rows))?;
                let (rate, flops) = (line.value?, line.number("gflops")?);
                let many = rows > ROWS[1];
                Some(if many {
                    format!("{:.1}", flops / 1e3)
                } else {
                    format!("{rate:.0}, {}", percent(rate / self.ceiling))
                })
            };
            let [one, eight, many] = ROWS.map(|rows| cell(rows).unwrap_or_default());
            let _ = writeln!(text, "| {} | {one} | {eight} | {many} |", row.join(" | "));
        }
        text
    }

    /// How many results are right, and the time of the host.
    fn verdicts(&self) -> String {
        let right = |name: &'static str| {
            let all = self.named(name);
            all.fold((0, 0), |(right, all), line| (right + usize::from(line.value == Some(1.0)), all + 1))
        };
        let (kernels, all_kernels) = right("kernels.values");
        let bits = ["bits.rows", "bits.batch"].map(right).into_iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let mut text = format!(
            "{kernels} of {all_kernels} results of kernels agree with the definitions. {} of {} comparisons of few rows with many \
             have the same bits.",
            bits.0, bits.1
        );
        for line in self.named("host.token") {
            let (time, variant) = (line.value.unwrap_or(f64::NAN), line.text("isa").unwrap_or(""));
            let _ = write!(text, " The host takes {time:.0} us for a token (1B, {variant}).");
        }
        text + "\n"
    }
}

fn key<'a>(line: &'a Line, fields: [&str; 2]) -> (&'a str, &'a str) {
    let [first, second] = fields.map(|field| line.text(field).unwrap_or(""));
    (first, second)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(kind: &str) -> Vec<Line> {
        let line = |name: &str, value: f64, fields: serde_json::Value| {
            let fields: Vec<(&str, serde_json::Value)> =
                fields.as_object().unwrap().iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
            Line::new(name, value, "", &fields)
        };
        let decode = |model: &str, value: f64, depth: u32| {
            let fields = json!({ "model": model, "isa": "core", "depth": depth, "token_bytes": 8.0e9 });
            line("models.decode", value, fields)
        };
        let kernel = |rows: u32, value: f64| {
            let fields = json!({
                "kernel": "linear.few.q8", "op": "linear", "format": "Q8_0", "isa": "core", "shapes": "8b", "rows": rows,
                "gflops": 2500.0,
            });
            line("kernels.read", value, fields)
        };
        vec![
            line("session.begun", 86_400.0 * 59.5, json!({ "commit": "abc" })),
            line("limits.memory", 80e9, json!({ "device": "Card", "driver": "Vulkan 1", "kind": kind })),
            line("ceiling.read", 1000.0, json!({})),
            decode("llama-3.1-8b-q8_0", 75.0, 0),
            decode("llama-3.1-8b-q8_0", 50.0, 4096),
            line("models.prefill", 900.0, json!({ "model": "llama-3.1-8b-q8_0", "isa": "core", "depth": 0 })),
            decode("llama-3.1-8b-q4_k_m", 25.0, 0),
            kernel(1, 800.0),
            kernel(8, 700.0),
            kernel(512, 90.0),
            line("kernels.values", 1.0, json!({})),
            line("kernels.values", 0.0, json!({})),
            line("bits.rows", 1.0, json!({})),
            line("host.token", 200.0, json!({ "isa": "core" })),
        ]
    }

    #[test]
    fn figures_have_their_shares_of_the_ceiling_and_goals() {
        let lines = lines("discrete");
        let text = Card::of(&lines).unwrap().text();
        for part in [
            "Card (Vulkan 1), 80 GB; 1970-03-01, commit abc; a kernel that only reads gets 1000 GB/s:",
            "| llama-3.1-8b-q8_0 | core | 75.0, 60% | 60%: met | 50.0, 40% | 900 |",
            "| llama-3.1-8b-q4_k_m | core | 25.0, 20% | 40%: **not met** |  |  |",
            "| linear.few.q8 | linear | Q8_0 | core | 800, 80% | 700, 70% | 2.5 |",
            "1 of 2 results of kernels agree with the definitions. 1 of 1 comparisons",
            "The host takes 200 us for a token (1B, core).",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn figures_of_software_and_files_without_a_ceiling_are_refused() {
        let software = lines("software");
        assert!(Card::of(&software).err().unwrap().contains("computes on the CPU"));
        let lines = lines("discrete");
        assert_eq!(Card::of(&lines[..2]).err().unwrap(), "has no wgpu.ceiling.read");
        assert_eq!(Card::of(&[]).err().unwrap(), "has no wgpu.limits.memory");
    }
}
