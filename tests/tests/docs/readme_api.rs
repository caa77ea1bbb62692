//! The example of the library in the README, compiled.

#[rustfmt::skip]
fn shown() -> Result<(), Box<dyn std::error::Error>> {
    // README: begin
    use inkstone::{Message, Model, Options};

    let model = Model::open("model.gguf")?;
    for piece in model.stream("Once upon a time", &Options::default().max_tokens(64))? {
        print!("{}", piece?.text);
    }
    let reply = model.chat(&[Message::user("What is a GGUF file?")], &Options::default().temperature(0.7))?;
    println!("{} ({} tokens)", reply.text, reply.usage.completion_tokens);
    // README: end
    Ok(())
}

#[test]
fn the_library_in_the_readme_is_this_code() {
    let between = |text: &'static str, begin: &str, end: &str| -> Vec<&'static str> {
        let lines = text.lines().map(str::trim).skip_while(|l| *l != begin).skip(1);
        lines.take_while(|l| *l != end).collect()
    };
    let code = between(include_str!("readme_api.rs"), "// README: begin", "// README: end");
    assert_eq!(code.len(), 8);
    assert_eq!(between(include_str!("../../../README.md"), "```rust", "```"), code);
    // There is no such file here: an error that names it, not a panic.
    assert!(shown().unwrap_err().to_string().contains("model.gguf"));
}
