//! A conversation with memory: `chat [MODEL]`, a message per line of standard input. The dialogue keeps all messages, and drops
//! the oldest turns when the context is full.

use inkstone::{Dialogue, Model, ModelOptions, Options};
use std::io::{BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::args().nth(1) {
        Some(path) => Model::open(path)?,
        None => Model::embedded(&ModelOptions::default())?,
    };
    let options = Options::default().temperature(0.7).seed(7).max_tokens(60);
    let mut dialogue = Dialogue::new(&model, model.chat_template()?);
    dialogue.set_system(Some("You are a friendly storyteller."));

    for line in std::io::stdin().lock().lines() {
        let turn = dialogue.ask(&line?, &options)?;
        if turn.forgotten > 0 {
            eprintln!("note: {} of the oldest turns were dropped", turn.forgotten);
        }
        let mut answer = String::new();
        for piece in turn.stream {
            let piece = piece?;
            print!("{}", piece.text);
            std::io::stdout().flush()?;
            answer += &piece.text;
        }
        println!();
        // The answer becomes part of the next prompt.
        dialogue.answered(&answer);
    }
    eprintln!("{} messages in memory", dialogue.messages().len());
    Ok(())
}
