//! candle's quantised Llama behind the line protocol of `cargo xtask bench` (bench/README.md). One sequence; as many threads as
//! `RAYON_NUM_THREADS` says.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, Write, stdin, stdout};
use std::time::{Duration, Instant};

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;

/// Positions of a prompt that go through the model together.
const CHUNK: usize = 512;

struct Peer {
    /// With a cache filled to the depth; clones share weights, and caches until they grow.
    filled: ModelWeights,
    depth: usize,
    vocab: u32,
    random: u32,
}

type Answer = Result<String, Box<dyn Error>>;

impl Peer {
    fn open(path: &str) -> Result<Self, Box<dyn Error>> {
        let mut file = File::open(path)?;
        let content = Content::read(&mut file)?;
        let vocab = content.tensor_infos.get("token_embd.weight").ok_or("no token_embd.weight")?.shape.dims()[0];
        let filled = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
        Ok(Self { filled, depth: 0, vocab: u32::try_from(vocab)?, random: 1 })
    }

    /// Runs random tokens for the positions from `begin` to `end`.
    fn feed(&mut self, model: &mut ModelWeights, begin: usize, end: usize) -> Result<Tensor, Box<dyn Error>> {
        let tokens: Vec<u32> = (begin..end)
            .map(|_| {
                self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (self.random >> 8) % self.vocab
            })
            .collect();
        Ok(model.forward(&Tensor::new(&tokens[..], &Device::Cpu)?.unsqueeze(0)?, begin)?)
    }

    fn feed_all(&mut self, model: &mut ModelWeights, end: usize) -> Result<Tensor, Box<dyn Error>> {
        let mut logits = Err("no tokens".into());
        for begin in (0..end).step_by(CHUNK) {
            logits = Ok(self.feed(model, begin, end.min(begin + CHUNK))?);
        }
        logits
    }

    fn fill(&mut self, depth: usize) -> Answer {
        let mut model = self.filled.clone();
        model.clear_kv_cache();
        if depth > 0 {
            self.feed_all(&mut model, depth)?;
        }
        (self.filled, self.depth) = (model, depth);
        Ok(format!("{{\"depth\": {depth}}}"))
    }

    fn decode(&mut self, milliseconds: usize) -> Answer {
        let (mut model, limit) = (self.filled.clone(), Duration::from_millis(milliseconds as u64));
        let (start, mut last, mut steps) = (Instant::now(), Duration::ZERO, 0);
        while steps == 0 || start.elapsed() + last <= limit {
            let step = Instant::now();
            self.feed(&mut model, self.depth + steps, self.depth + steps + 1)?;
            (last, steps) = (step.elapsed(), steps + 1);
        }
        took(steps, start.elapsed())
    }

    fn prompt(&mut self, tokens: usize) -> Answer {
        self.fill(0)?;
        let (mut model, start) = (self.filled.clone(), Instant::now());
        self.feed_all(&mut model, tokens)?;
        took(tokens, start.elapsed())
    }

    fn first(&mut self, tokens: usize) -> Answer {
        self.fill(0)?;
        let (mut model, start) = (self.filled.clone(), Instant::now());
        let token = self.feed_all(&mut model, tokens)?.flatten_all()?.argmax(0)?.to_scalar::<u32>()?;
        Ok(format!("{{\"token\": {token}, \"ns\": {}}}", start.elapsed().as_nanos()))
    }

    fn answer(&mut self, line: &str) -> Answer {
        let (name, number) = line.split_once(' ').unwrap_or((line, "0"));
        let number: usize = number.trim().parse()?;
        match name {
            "fill" => self.fill(number),
            "decode" => self.decode(number),
            "prompt" => self.prompt(number),
            "first" => self.first(number),
            "peak" => peak(),
            _ => Err("unknown".into()),
        }
    }
}

fn took(tokens: usize, time: Duration) -> Answer {
    Ok(format!("{{\"tokens\": {tokens}, \"ns\": {}}}", time.as_nanos()))
}

fn peak() -> Answer {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(format!("{{\"peak_bytes\": {}}}", kib * 1024))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: bench-candle MODEL.gguf")?;
    let start = Instant::now();
    let mut peer = Peer::open(&path)?;
    println!("{{\"load_ns\": {}}}", start.elapsed().as_nanos());
    stdout().flush()?;
    for line in stdin().lock().lines() {
        let line = line?;
        if line == "quit" {
            break;
        }
        let answer = peer.answer(&line).unwrap_or_else(|e| format!("{{\"error\": {:?}}}", format!("{line}: {e}")));
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}
