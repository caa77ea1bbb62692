//! Prints a text while it is generated: `stream [MODEL]`. Without a file, the built-in story model writes a story.

use inkstone::{Model, ModelOptions, Options};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded(&ModelOptions::default())?,
    };
    // Notes for the user, for example that this is a slow debug build.
    model.notes().iter().for_each(|note| eprintln!("note: {note}"));

    let options = Options::default().temperature(0.7).seed(7).max_tokens(60);
    let mut stream = model.stream("Once upon a time", &options)?;
    // Each step of the loop computes the next token. To stop early, leave the loop.
    for piece in stream.by_ref() {
        print!("{}", piece?.text);
        std::io::stdout().flush()?;
    }
    println!();

    let (usage, timings) = (stream.usage(), stream.timings());
    let rate = timings.decode_rate(&usage).unwrap_or_default();
    eprintln!("{} tokens, {rate:.0} per second, finish: {:?}", usage.completion_tokens, stream.finish());
    Ok(())
}
