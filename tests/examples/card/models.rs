//! The speed of a model: prompts, and texts as a user gets them.

use crate::{Options, figure};
use inkstone::Model;
use inkstone::bench::Bench;
use serde_json::json;
use std::time::{Duration, Instant};

/// Tokens of a text before it is timed: the first ones wait for the prompt.
const FIRST: usize = 8;
/// The longest time for a text.
const MOST: Duration = Duration::from_secs(6);
const PROMPTS: usize = 3;

/// How long prompts and texts are.
struct Lengths {
    prompt: usize,
    depths: [usize; 2],
    text: usize,
}

const LONG: Lengths = Lengths { prompt: 512, depths: [0, 4096], text: 128 };
const SHORT: Lengths = Lengths { prompt: 16, depths: [0, 64], text: 8 };

pub fn models(options: &Options) -> Result<(), String> {
    let Lengths { prompt, depths, text } = if options.tiny { SHORT } else { LONG };
    let (file, model) = options.model()?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let most = depths[1].max(prompt) + FIRST + text + 1;
    let begun = Instant::now();
    let model = model.engine("wgpu").sequences(1).ctx(most as u32);
    let model = Model::open_with(file, &model).map_err(|error| error.to_string())?;
    figure("models.load", begun.elapsed().as_secs_f64(), "s", json!({ "model": name, "isa": options.isa }));
    let mut bench = Bench::new(&model, 1, most, None).map_err(|error| error.to_string())?;
    let mut run = || bench.prompt(prompt).map(|slice| slice.time).map_err(|error| error.to_string());
    let warm = run()?;
    let time = (0..PROMPTS).map(|_| run()).collect::<Result<Vec<_>, _>>()?.into_iter().fold(warm, Duration::min);
    let fields = json!({ "model": name, "isa": options.isa, "depth": 0, "prompt": prompt });
    figure("models.prefill", prompt as f64 / time.as_secs_f64(), "tokens/s", fields);
    let bytes = depths.map(|depth| bench.traffic().decode_bytes(1, depth + FIRST + text / 2));
    // It has the model for itself.
    drop(bench);
    for (depth, token_bytes) in depths.into_iter().zip(bytes) {
        let rate = decode(&model, depth, text)?;
        let fields = json!({ "model": name, "isa": options.isa, "depth": depth, "token_bytes": token_bytes });
        figure("models.decode", rate, "tokens/s", fields);
    }
    Ok(())
}

/// Tokens per second of a text after so many tokens, with steps ahead as always.
fn decode(model: &Model, depth: usize, text: usize) -> Result<f64, String> {
    let vocabulary = model.graph().config.vocab as u32;
    let ids: Vec<u32> = (0..depth.max(1) as u32).map(|i| i.wrapping_mul(7919) % vocabulary).collect();
    let greedy = inkstone::Options::default().temperature(0.0).unlimited().ignore_end(true);
    let mut stream = model.stream_ids(&ids, &greedy).map_err(|error| error.to_string())?;
    let mut take = |tokens: usize, most: Duration| -> Result<(usize, Duration), String> {
        let (begun, before) = (Instant::now(), stream.ids().len());
        while stream.ids().len() < before + tokens && begun.elapsed() < most {
            stream.next().ok_or("the text ended")?.map_err(|error| error.to_string())?;
        }
        Ok((stream.ids().len() - before, begun.elapsed()))
    };
    take(FIRST, Duration::MAX)?;
    let (tokens, time) = take(text, MOST)?;
    Ok(tokens as f64 / time.as_secs_f64())
}
