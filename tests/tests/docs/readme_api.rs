//! What the README shows of the library, compiled.

use inkstone::{Flow, Options};

#[rustfmt::skip]
fn shown() -> Result<(), Box<dyn std::error::Error>> {
    // README: begin
    let model = inkstone::Model::open("model.gguf")?;          // open_with(path, &ModelOptions { engine, threads, ctx, .. })
    let reply = model.generate("Once upon a time", &Options::default().temperature(0.7).max_tokens(64))?;
    for piece in model.stream("Tell me a story.", &Options::default())? { print!("{}", piece?.text); }
    model.generate_with("Tell me a story.", &Options::default(), |piece| { print!("{}", piece.text); Flow::Continue })?;
    // README: end
    drop(reply);
    Ok(())
}

#[test]
fn the_library_in_the_readme_is_this_code() {
    let between = |text: &'static str, begin: &str, end: &str| -> Vec<&'static str> {
        let lines = text.lines().map(str::trim).skip_while(|l| *l != begin).skip(1);
        lines.take_while(|l| *l != end).collect()
    };
    let code = between(include_str!("readme_api.rs"), "// README: begin", "// README: end");
    assert_eq!(code.len(), 4);
    assert_eq!(between(include_str!("../../../README.md"), "```rust", "```"), code);
    // There is no such file here: an error that names it, not a panic.
    assert!(shown().unwrap_err().to_string().contains("model.gguf"));
}
