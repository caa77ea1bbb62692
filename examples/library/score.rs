//! The score of a text: `score [MODEL]`, a text per line of standard input. Prints the log-probability of the text, and its
//! perplexity: the lower, the better the model predicts the text.

use inkstone::text::Encode;
use inkstone::{Model, ModelOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded(&ModelOptions::default())?,
    };
    for text in std::io::stdin().lines() {
        let text = text?;
        // The token that begins a text, if the model has one, comes first, so that the first word also has a probability.
        let ids = model.tokenizer().encode(&text, &Encode::new().eos(false))?;
        if ids.len() < 2 {
            println!("too short to score: {text}");
            continue;
        }
        // One row per position, with a logit for each token that may come next.
        let logits = model.logits(&ids, None)?;
        let vocabulary = logits.len() / ids.len();
        let rows = logits.chunks(vocabulary);
        let total: f64 = rows.zip(&ids[1..]).map(|(row, next)| log_probability(row, *next)).sum();
        let perplexity = (-total / (ids.len() - 1) as f64).exp();
        println!("log-probability {total:.2}, perplexity {perplexity:.2}: {text}");
    }
    Ok(())
}

/// The logarithm of the probability of a token: its logit minus the logarithm of the sum of all exponentials.
fn log_probability(logits: &[f32], token: u32) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    f64::from(logits[token as usize] - most) - sum.ln()
}
