//! Running the program.

use inkstone::gguf::{Metadata, TensorSpec, Writer};
use inkstone::tensor::DType;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// No test waits longer for the program.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The program, in an environment that is the same everywhere.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inkstone"));
    command.env("COLUMNS", "100").stdin(Stdio::null());
    isolate(&mut command);
    command
}

/// Hides the tester's variables, models and settings from the program.
pub fn isolate(command: &mut Command) {
    const PREFIXES: [&str; 6] = ["INKSTONE_", "XDG_", "HF_", "HUGGINGFACE_", "LLAMA_", "OLLAMA_"];
    for (name, _) in std::env::vars_os() {
        if PREFIXES.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    // A service of Ollama has models outside of any home.
    for name in ["HOME", "USERPROFILE", "LOCALAPPDATA", "OLLAMA_MODELS"] {
        command.env(name, concat!(env!("CARGO_TARGET_TMPDIR"), "/nothing"));
    }
}

/// What came of it.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is UTF-8")
    }

    /// An error: the code, nothing on standard output, one line on standard error.
    #[track_caller]
    pub fn refused(&self, code: i32, wanted: &str) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, b"", "standard output is not clean");
        self.refused_after(code, wanted);
    }

    /// The same with notes and results before the error. The source line of a template, which is set in, may follow it.
    #[track_caller]
    pub fn refused_after(&self, code: i32, wanted: &str) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        let is_more =
            |line: &str| line.starts_with("note: ") || line.starts_with("  ") || line.starts_with("messages: ");
        let errors: Vec<_> = self.stderr.lines().filter(|line| !is_more(line)).collect();
        assert_eq!(errors.len(), 1, "{:?}", self.stderr);
        assert!(errors[0].starts_with("error: ") && errors[0].contains(wanted), "{:?} lacks {wanted:?}", errors[0]);
    }

    #[track_caller]
    pub fn succeeded(self) -> Ran {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let stderr = String::from_utf8(output.stderr).expect("standard error is UTF-8");
        assert!(!stderr.contains("panicked"), "{stderr}");
        Ran { code: output.status.code(), stdout: output.stdout, stderr }
    }
}

pub fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Ran {
    program().args(arguments).output().expect("the program starts").into()
}

/// With arguments as a shell reads them, `$FILE` among them, in the address space of a small machine.
#[cfg(unix)]
pub fn run_in_four_gigabytes(arguments: &str, file: &Path) -> Ran {
    let mut shell = Command::new("sh");
    isolate(&mut shell);
    shell.env("INKSTONE", program().get_program()).env("FILE", file).stdin(Stdio::null());
    shell.arg("-c").arg(format!("ulimit -v 4000000; exec \"$INKSTONE\" {arguments}"));
    shell.output().expect("a shell").into()
}

/// With bytes on standard input.
pub fn run_with_input<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Ran {
    let mut command = program();
    command.args(arguments);
    fed(command, input)
}

/// A command with bytes on standard input.
pub fn fed(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A program that refuses early does not read: that is no fault of the test.
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("the program ends").into()
}

/// Waits until `done` holds.
#[track_caller]
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The model that ships with the project, as a file.
pub fn story() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../inkstone/assets/story-5m-q8_0.gguf")
}

/// The same model in a file without a chat template: its key is one that nobody reads.
pub fn write_story_without_template(path: &Path) {
    let (mut bytes, key) = (std::fs::read(story()).unwrap(), b"tokenizer.chat_template");
    let at = bytes.windows(key.len()).position(|part| part == key).unwrap();
    bytes[at + key.len() - 1] = b'_';
    std::fs::write(path, bytes).unwrap();
}

/// A file with these keys and zeros as tensors.
pub fn write_gguf(path: &Path, metadata: &Metadata, tensors: Vec<TensorSpec>) {
    let bytes: usize = tensors.iter().map(|t| bytes(t.dtype, &t.dims)).sum();
    let mut writer = Writer::new(File::create(path).unwrap(), metadata, tensors).unwrap();
    writer.data(&vec![0; bytes]).unwrap();
    writer.finish().unwrap();
}

fn bytes(dtype: DType, dims: &[u64]) -> usize {
    dims.iter().product::<u64>() as usize / dtype.block() * dtype.block_bytes()
}

/// A vocabulary: the letters, and what is asked for beside.
pub fn vocabulary(add_bos: bool) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", "llama");
    metadata.insert("tokenizer.ggml.model", "gpt2");
    metadata.insert("tokenizer.ggml.pre", "gpt-2");
    let mut tokens = vec!["<s>".to_string()];
    tokens.extend(('!'..='~').map(String::from));
    let mut kinds = vec![1i32; tokens.len()];
    kinds[0] = 3;
    metadata.insert("tokenizer.ggml.tokens", tokens);
    metadata.insert("tokenizer.ggml.token_type", kinds);
    metadata.insert("tokenizer.ggml.merges", Vec::<String>::new());
    metadata.insert("tokenizer.ggml.bos_token_id", 0u32);
    metadata.insert("tokenizer.ggml.add_bos_token", add_bos);
    metadata
}
