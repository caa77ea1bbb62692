//! Measures a fresh process: the time to its first token, and its memory.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use inkstone_gguf::{Gguf, OpenOptions};

use super::llama_cpp::{LlamaCpp, Variant};
use super::peer::Ours;
use super::record::Test;
use crate::command::Program;
use crate::error::Error;

/// The time and memory of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fresh {
    /// Seconds from its start to the first byte of its standard output, or to its end if it writes nothing.
    pub first: f64,
    /// The most memory that was seen, VmHWM.
    pub peak: u64,
}

/// How llama.cpp is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Its program that continues a prompt.
    Program,
    /// The library in a process of the script, without Python's own start.
    Library,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "llama-completion",
            Self::Library => "the library",
        }
    }
}

/// Tokens that a process of Inkstone writes while its memory is measured.
const PEAK_TOKENS: usize = 16;

/// Processes of Inkstone and llama.cpp in turns, the given number of each. Each timed process starts right after another
/// process of the same kind: the host of a virtual machine takes back memory that is unused for some seconds, and a program
/// that needs it again waits longer than for all else.
pub fn compare(
    ours: &Ours,
    peer: &LlamaCpp,
    model: &Path,
    test: &Test,
    way: Way,
    rounds: usize,
) -> Result<(Vec<Fresh>, Vec<Fresh>), Error> {
    let prompt = prompt(ours, model, test.tokens)?;
    let of_ours = |tokens| run("inkstone", command(ours, model, test, &prompt, tokens));
    let completion = || run(way.name(), completion(&peer.completion, model, test, &prompt));
    let fastest = match way {
        Way::Program => None,
        Way::Library => Some(fastest(peer, model, test)?),
    };
    let of_peer = || fastest.map_or_else(completion, |variant| library(peer, model, test, variant));
    let (mut all_ours, mut all_theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let before = of_ours(PEAK_TOKENS)?;
        all_ours.push(Fresh { peak: before.peak, ..of_ours(1)? });
        of_peer()?;
        all_theirs.push(of_peer()?);
    }
    Ok((all_ours, all_theirs))
}

/// The way to run the library that has its first token first.
fn fastest(peer: &LlamaCpp, model: &Path, test: &Test) -> Result<Variant, Error> {
    let mut least = (f64::INFINITY, Variant::HUGE_PAGES);
    for variant in Variant::all().into_iter().filter(|v| v.flash) {
        let took = library(peer, model, test, variant)?.first.min(library(peer, model, test, variant)?.first);
        println!("  trial: {took:.3} s, {}", variant.name());
        if took < least.0 {
            least = (took, variant);
        }
    }
    Ok(least.1)
}

fn library(peer: &LlamaCpp, model: &Path, test: &Test, variant: Variant) -> Result<Fresh, Error> {
    let mut process = peer.start(model, test, variant)?;
    let first = process.ask(&format!("first {}", test.tokens))?;
    let first = (process.number(process.about(), "load_ns")? + process.number(&first, "ns")?) / 1e9;
    let peak = process.ask("peak")?;
    Ok(Fresh { first, peak: process.number(&peak, "peak_bytes")? as u64 })
}

/// Between two looks at a process's memory.
const LOOK: Duration = Duration::from_millis(5);

/// Runs a command to its end.
fn run(name: &str, mut command: Command) -> Result<Fresh, Error> {
    let failed = |source| Error::Start { program: name.to_owned(), source };
    let start = Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let status = format!("/proc/{}/status", child.id());
    let output = child.stdout.take();
    // Its memory is read while it runs, because a finished process has none.
    let reader = thread::spawn(move || {
        let mut byte = [0];
        let mut output = output?;
        let _ = output.read(&mut byte);
        let first = start.elapsed();
        let _ = output.read_to_end(&mut Vec::new());
        Some(first.as_secs_f64())
    });
    let mut peak = 0;
    let ended = loop {
        peak = peak.max(fs::read_to_string(&status).ok().and_then(|text| high_water(&text)).unwrap_or(0));
        match child.try_wait().map_err(failed)? {
            Some(ended) => break ended,
            None => thread::sleep(LOOK),
        }
    };
    let first = reader.join().ok().flatten();
    match first {
        Some(first) if ended.success() => Ok(Fresh { first, peak }),
        _ => Err(Error::Peer { name: name.to_owned(), what: format!("{command:?} ended with {ended}") }),
    }
}

/// Bytes of VmHWM.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// A text that is so many tokens of the model, the one at the begin of texts included: letters, one more at a time.
fn prompt(ours: &Ours, model: &Path, tokens: usize) -> Result<String, Error> {
    let mut text = String::from("a");
    // A letter is at most two tokens with its space.
    for at in 0..2 * tokens {
        let program = Program::at(&ours.program, Path::new(".")).arg("tokenize").arg(model);
        let ids: Vec<u32> = serde_json::from_slice(&program.args([&text, "--ids"]).stdout()?)?;
        if ids.len() >= tokens {
            break;
        }
        text.push(' ');
        text.push(char::from(b'b' + (at % 25) as u8));
    }
    Ok(text)
}

/// Positions of the cache of a process whose memory is looked at.
const CONTEXT: u64 = 4096;
/// The memory that a process may use beyond its file and its cache: a part of both, but at least this number of bytes.
const ALLOWANCE: (u64, u64) = (10, 120 << 20);

/// The largest number of bytes that a process of Inkstone may use.
pub fn allowed(model: &Path) -> Result<f64, Error> {
    let file = Gguf::open(model, &OpenOptions::default())?;
    let metadata = file.metadata();
    let architecture = metadata.str("general.architecture")?.unwrap_or("llama");
    let number = |name: &str| Ok::<_, Error>(metadata.u64(&format!("{architecture}.{name}"))?.unwrap_or(0));
    let head = match number("attention.key_length")? {
        0 => number("embedding_length")? / number("attention.head_count")?.max(1),
        length => length,
    };
    // Keys and values in f16.
    let cache = CONTEXT * number("block_count")? * number("attention.head_count_kv")? * head * 4;
    let size = file.size() + cache;
    Ok((size + (size * ALLOWANCE.0 / 100).max(ALLOWANCE.1)) as f64)
}

/// Inkstone's command that writes `tokens` tokens after the prompt, the most probable ones.
fn command(ours: &Ours, model: &Path, test: &Test, prompt: &str, tokens: usize) -> Command {
    let mut command = ours.command("complete", model, test);
    command.arg(prompt).args([
        "--temperature",
        "0",
        "--max-tokens",
        &tokens.to_string(),
        "--ctx",
        &CONTEXT.to_string(),
    ]);
    command
}

/// llama.cpp's program, without what it does beyond that.
fn completion(program: &Path, model: &Path, test: &Test, prompt: &str) -> Command {
    let mut command = Command::new(program);
    command.arg("--model").arg(model).args(["--prompt", prompt, "--threads", &test.threads.to_string()]);
    let quick = "--predict 1 --temp 0 --no-warmup --no-display-prompt --no-conversation --ctx-size 512";
    command.args(quick.split_whitespace());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_first_byte_and_a_peak() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.05; echo a; sleep 0.1"]);
        let fresh = run("sh", command).unwrap();
        assert!(fresh.first >= 0.05, "{fresh:?}");
        assert!(fs::metadata("/proc/self/status").is_err() || fresh.peak > 0, "{fresh:?}");
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let error = run("sh", command).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn the_high_water_is_in_kilobytes() {
        assert_eq!(high_water("Name:\tx\nVmHWM:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(high_water("Name:\tx\n"), None);
    }
}
