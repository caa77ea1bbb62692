//! Whether the bits of a row depend on the rows that are computed with it.

use crate::{Options, verdict};
use inkstone::{Model, Request};
use serde_json::json;

/// Sequences at once.
const SEQUENCES: usize = 8;

/// The logits of a prompt token by token, eight at a time and at once; texts one by one and eight at once.
pub fn bits(options: &Options) -> Result<(), String> {
    let (file, model) = options.model()?;
    let model = Model::open_with(file, &model.engine("wgpu").ctx(256)).map_err(|error| error.to_string())?;
    let vocabulary = model.graph().config.vocab as u32;
    let ids: Vec<u32> = (0..24u32).map(|i| i.wrapping_mul(7919) % vocabulary).collect();
    let logits = |chunk| model.logits(&ids, chunk).map_err(|error| error.to_string());
    let whole = logits(None)?;
    for rows in [1, 8] {
        let found = logits(Some(rows))?;
        let differs = found.iter().zip(&whole).position(|(a, b)| a.to_bits() != b.to_bits());
        let fault = differs.map(|i| format!("logit {i} is {}, with all rows at once {}", found[i], whole[i]));
        let fault = fault.or_else(|| (found.len() != whole.len()).then(|| format!("{} logits", found.len())));
        verdict("bits.rows", fault, json!({ "rows": rows, "isa": options.isa }));
    }
    let greedy =
        inkstone::Options::default().temperature(0.0).max_tokens(if options.tiny { 3 } else { 16 }).ignore_end(true);
    let requests: Vec<Request> =
        (0..SEQUENCES).map(|i| Request::new(ids[i..i + 9 + i].to_vec(), greedy.clone())).collect();
    let run = |requests: &[Request]| -> Result<Vec<Vec<u32>>, String> {
        let replies = model.generate_batch(requests).into_iter().map(|replies| {
            let reply = replies.map_err(|error| error.to_string())?.pop();
            reply.map(|reply| reply.ids).ok_or_else(|| "a request has no text".to_owned())
        });
        replies.collect()
    };
    let together = run(&requests)?;
    let singly = requests.chunks(1).map(run).collect::<Result<Vec<_>, _>>()?.concat();
    let differs = together.iter().zip(&singly).position(|(a, b)| a != b);
    let fault = differs.map(|i| format!("text {i} of {SEQUENCES} is {:?}, singly {:?}", together[i], singly[i]));
    verdict("bits.batch", fault, json!({ "rows": SEQUENCES, "isa": options.isa }));
    Ok(())
}
