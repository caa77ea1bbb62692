//! Answers many prompts at the same time: `batch [MODEL]` reads one prompt per line of standard input, and prints the
//! answers in the same order.
//!
//! A clone of a model is another handle to it, one per thread. The model computes each step for all threads together, which takes
//! little longer than a step for one thread. An answer does not depend on the other prompts.

use inkstone::{Model, ModelOptions, Options, Reply, Result};
use std::thread;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    // Up to 16 prompts are computed at the same time; further prompts wait.
    let options = ModelOptions::default().sequences(16);
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open_with(path, &options)?,
        None => Model::embedded(&options)?,
    };
    let prompts: Vec<String> = std::io::stdin().lines().collect::<std::io::Result<_>>()?;

    let generate = |prompt: String| {
        let model = model.clone();
        let options = Options::default().temperature(0.7).seed(7).max_tokens(30);
        thread::spawn(move || -> Result<Reply> { model.generate(&prompt, &options) })
    };
    let threads: Vec<_> = prompts.iter().cloned().map(generate).collect();
    for (prompt, thread) in prompts.iter().zip(threads) {
        match thread.join().expect("a generation does not panic") {
            Ok(reply) => println!("{prompt}{}", reply.text.replace('\n', " ")),
            // The other prompts continue after an invalid one.
            Err(error) => println!("{prompt:?}: {error}"),
        }
    }
    Ok(())
}
