//! How probable a text is for a model: `score [MODEL]`, a text per line of standard input. For each the log-probability of all
//! its tokens but the first, and the perplexity: the lower, the less the text surprises the model.

use inkstone::text::Encode;
use inkstone::{Model, ModelOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded(&ModelOptions::default())?,
    };
    for text in std::io::stdin().lines() {
        let text = text?;
        // With the token that begins texts, where the model has one, so that the first word has a probability, too.
        let ids = model.tokenizer().encode(&text, &Encode::new().eos(false))?;
        if ids.len() < 2 {
            println!("too short to score: {text}");
            continue;
        }
        // A row of the vocabulary for each position: what the model expects after the tokens up to there.
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
