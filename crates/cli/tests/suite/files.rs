//! Files that are no models, or not quite.

use crate::common::{self, program, run, run_with_input, story, vocabulary, write_gguf};
use inkstone::gguf::{Metadata, TensorSpec};
use inkstone::tensor::DType;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Many times what a refusal and the start of a program take, also on a loaded machine.
const SOON: Duration = Duration::from_secs(30);

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A file of these bytes.
fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Every command says the same of it.
#[track_caller]
fn refused_by_all(path: &Path, wanted: &str) {
    let out = path.with_extension("npy");
    let commands: [&[&str]; 4] = [
        &["complete", "-m", text(path), "-p", "Hi"],
        &["show", text(path)],
        &["tokenize", text(path), "Hi"],
        &["logits", text(path), "--ids", "1", "--out", text(&out)],
    ];
    for command in commands {
        let start = Instant::now();
        run(command).refused(1, wanted);
        assert!(start.elapsed() < SOON, "{command:?} took {:?}", start.elapsed());
        assert!(!out.exists());
    }
}

#[test]
fn a01_what_is_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    refused_by_all(&folder.join("missing.gguf"), "missing.gguf: no such file");
    refused_by_all(folder, "is a directory");
    refused_by_all(&file(folder, "empty.gguf", b""), "empty.gguf: is empty");
    refused_by_all(&file(folder, "text.gguf", b"Once upon a time"), "text.gguf: not a GGUF file");
    #[cfg(unix)]
    {
        let fifo = folder.join("fifo.gguf");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        refused_by_all(&fifo, "is a FIFO");
    }
}

#[test]
fn a02_a_download_that_broke_off_is_refused_with_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(story()).unwrap();
    for bytes in [5, 1000, 200_000, whole.len() - 1] {
        let path = file(folder.path(), "cut.gguf", &whole[..bytes]);
        refused_by_all(&path, &format!("ends at byte {bytes}"));
    }
}

#[test]
fn a03_versions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "v.gguf", &[b"GGUF".as_slice(), &4u32.to_le_bytes(), &[0; 16]].concat());
    refused_by_all(&path, "version 4, supported: 2, 3");
}

#[test]
fn a04_a_count_of_2_to_the_63_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let head = [b"GGUF".as_slice(), &3u32.to_le_bytes(), &(1u64 << 63).to_le_bytes(), &[0; 8]].concat();
    refused_by_all(&file(folder.path(), "count.gguf", &head), "9223372036854775808");
}

#[test]
fn a11_a14_what_can_not_be_run_is_listed_by_show() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.gguf");
    let tensors = vec![
        TensorSpec::new("token_embd.weight", DType::IQ2_XXS, &[256, 4]),
        TensorSpec::new("none", DType::F32, &[0]),
        TensorSpec::new("line\nbreak", DType::F32, &[2]),
    ];
    write_gguf(&path, &vocabulary(true), tensors);
    let shown = run(&["show", text(&path)]).succeeded();
    for wanted in [
        "IQ2_XXS",
        "tensors that can't be used: 2",
        "Inkstone can't compute with IQ2_XXS",
        "line\\nbreak",
        "runs          no: ",
    ] {
        assert!(shown.text().contains(wanted), "{wanted}: {}", shown.text());
    }
    let json: serde_json::Value =
        serde_json::from_slice(&run(&["show", "--json", text(&path)]).succeeded().stdout).unwrap();
    assert_eq!(json["tensors"][0]["type"], "IQ2_XXS");
    assert_eq!(json["tensors"][2]["name"], "line\nbreak");
    assert_eq!(json["unusable"][0]["name"], "token_embd.weight");
    assert_eq!(json["runs"], false);
    assert_eq!(run(&["complete", "-m", text(&path), "-p", "Hi"]).code, Some(1));
}

#[test]
fn a17_bytes_after_the_last_tensor_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let longer = [std::fs::read(story()).unwrap().as_slice(), &[0; 100]].concat();
    let path = file(folder.path(), "longer.gguf", &longer);
    let shown = run(&["show", text(&path)]).succeeded();
    assert!(shown.text().contains("100 bytes after the last tensor"), "{}", shown.text());
    run(&["complete", "-m", text(&path), "-p", "Hi", "-n", "2"]).succeeded();
}

/// The file is cut to less than a page once the program has begun to write text.
#[cfg(unix)]
#[test]
fn a19_a_file_that_shrinks_while_it_is_mapped_ends_as_one_line() {
    use std::io::Read;
    use std::process::Stdio;
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "shrinks.gguf", &std::fs::read(story()).unwrap());
    let mut command = program();
    command.args(["complete", "-m", text(&path), "-p", "Hi", "-c", "512", "--json", "--mmap"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 20]).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let line = format!("error: {}: changed or could not be read while it was in use (SIGBUS)\n", path.display());
    assert_eq!(stderr, line);
}

#[test]
fn b01_an_unknown_architecture_is_named_with_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.gguf");
    let mut metadata = vocabulary(true);
    metadata.insert("general.architecture", "quill");
    write_gguf(&path, &metadata, vec![TensorSpec::new("x", DType::F32, &[2])]);
    for wanted in ["quill", "llama"] {
        run(&["complete", "-m", text(&path), "-p", "Hi"]).refused(1, wanted);
    }
    assert!(run(&["show", text(&path)]).succeeded().text().contains("architecture  quill"));
}

#[test]
fn b03_tensors_that_the_model_does_not_use_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("extra.gguf");
    let original = inkstone::gguf::Gguf::open(story(), &Default::default()).unwrap();
    let mut specs: Vec<_> =
        original.tensors().iter().map(|t| TensorSpec::new(t.name.clone(), t.dtype.known().unwrap(), &t.dims)).collect();
    specs.push(TensorSpec::new("surplus.weight", DType::F32, &[8]));
    write_gguf(&path, original.metadata(), specs);
    let shown = run(&["show", text(&path)]).succeeded();
    assert!(shown.text().ends_with("tensors that the model does not use: 1\n  surplus.weight\n"), "{}", shown.text());
    assert!(shown.text().contains("runs          yes"));
    let shown = run(&["show", text(&story())]).succeeded();
    assert!(!shown.text().contains("does not use"));
}

#[test]
fn b04_a_context_beyond_memory_is_refused_with_the_bytes() {
    run(&["complete", "Hi", "-c", "1073741824"]).refused(1, "the largest that fits");
}

/// A file with holes.
#[cfg(target_os = "linux")]
#[test]
fn weights_beyond_memory_are_refused_with_the_option_that_helps() {
    // Five layers of three matrices, 256 wide: 4.3 GB.
    const FFN: [u64; 2] = [640, 1 << 20];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    let original = inkstone::gguf::Gguf::open(story(), &Default::default()).unwrap();
    let mut metadata = original.metadata().clone();
    metadata.insert("llama.feed_forward_length", FFN[1] as u32);
    let specs = original.tensors().iter().map(|t| {
        let dims: Vec<u64> = t.dims.iter().map(|d| if *d == FFN[0] { FFN[1] } else { *d }).collect();
        TensorSpec::new(t.name.clone(), t.dtype.known().unwrap(), &dims)
    });
    let file = std::fs::File::create(&path).unwrap();
    inkstone::gguf::Writer::new(&file, &metadata, specs.collect()).unwrap();
    file.set_len(5 << 30).unwrap();
    common::run_in_four_gigabytes("complete \"$FILE\" Hi", &path).refused(1, "--mmap reads them from the file");
}

#[test]
fn a_context_above_the_trained_one_is_a_note() {
    let ran = run(&["complete", "Hi", "-c", "600", "-n", "1"]).succeeded();
    assert!(ran.stderr.lines().next().unwrap().starts_with("note: a context of 600 tokens"), "{}", ran.stderr);
}

#[test]
fn b06_show_check_names_tensors_with_nan() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.gguf");
    let specs = vec![TensorSpec::new("sound", DType::F32, &[4]), TensorSpec::new("broken", DType::F32, &[4])];
    write_gguf(&path, &Metadata::new(), specs);
    let sound = run(&["show", "--check", text(&path)]).succeeded();
    assert!(sound.text().contains("check: 2 tensors, 0 at fault"));
    let mut bytes = std::fs::read(&path).unwrap();
    // The last of the second tensor's four values, before its padding to 32 bytes.
    let last = inkstone::gguf::Gguf::open(&path, &Default::default()).unwrap().end_of_data() as usize - 4;
    bytes[last..last + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    let broken = run(&["show", "--check", text(&path)]);
    assert_eq!(broken.code, Some(1));
    let line = broken.text().lines().find(|l| l.contains("the first at value")).expect("a finding");
    assert!(line.contains("broken") && line.contains("1 NaN, 0 infinite, the first at value 3"), "{line}");
    assert!(broken.stderr.contains("1 of 2 tensors"));
    let json = run(&["show", "--check", "--json", text(&path)]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["check"]["faults"][0]["name"], "broken");
}

#[test]
fn b07_a_vocabulary_can_be_shown_and_tokenized_but_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vocabulary.gguf");
    write_gguf(&path, &vocabulary(true), Vec::new());
    run(&["show", "--check", text(&path)]).succeeded();
    assert_eq!(run(&["tokenize", text(&path), "ab", "--ids"]).succeeded().text(), "[0, 65, 66]\n");
    assert_eq!(run(&["tokenize", text(&path), "ab", "--ids", "--no-bos"]).succeeded().text(), "[65, 66]\n");
    assert_eq!(run(&["tokenize", text(&path), "<s>a", "--ids", "--special"]).succeeded().text(), "[0, 65]\n");
    assert_eq!(
        run(&["tokenize", text(&path), "ab"]).succeeded().text(),
        "      0  \"<s>\"\n     65  \"a\"\n     66  \"b\"\n"
    );
    run(&["complete", "-m", text(&path), "-p", "ab"]).refused(1, "no tensors");
}

#[test]
fn c04_an_unknown_tokenizer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unknown.gguf");
    let mut metadata = vocabulary(true);
    metadata.insert("tokenizer.ggml.pre", "nobody-knows");
    write_gguf(&path, &metadata, Vec::new());
    run(&["tokenize", text(&path), "ab"]).refused(1, "\"nobody-knows\" is not known");
}

#[test]
fn c06_text_that_is_no_utf8_is_refused_with_the_offset() {
    let story = story();
    let cases: [(&[u8], &str); 3] = [
        (b"ab\xFFc", "standard input: not UTF-8 at byte 2"),
        (b"\xED\xA0\x80", "standard input: not UTF-8 at byte 0"),
        (b"abc\xE2\x82", "standard input: not UTF-8 at byte 3"),
    ];
    for (input, wanted) in cases {
        run_with_input(&["tokenize", text(&story)], input).refused(1, wanted);
        run_with_input(&["complete", "-m", text(&story)], input).refused(1, wanted);
    }
    let folder = tempfile::tempdir().unwrap();
    let prompt = file(folder.path(), "prompt.txt", b"Once \xC3(");
    run(&["complete", "-f", text(&prompt)]).refused(1, "prompt.txt: not UTF-8 at byte 5");
    run_with_input(&["tokenize", text(&story)], b"a\0b").succeeded();
}

#[cfg(unix)]
#[test]
fn c06_an_argument_that_is_no_utf8_is_refused_with_the_offset() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let broken = OsStr::from_bytes(b"Hi \xFF");
    let story = story();
    run(&[OsStr::new("complete"), broken]).refused(1, "the prompt: not UTF-8 at byte 3");
    run(&[OsStr::new("tokenize"), story.as_os_str(), broken]).refused(1, "the text: not UTF-8 at byte 3");
}

#[test]
fn c08_more_text_than_is_allowed_is_refused() {
    let story = story();
    let text_of = |n: usize| "a".repeat(n).into_bytes();
    run_with_input(&["tokenize", text(&story), "--max-bytes", "10"], &text_of(11))
        .refused(1, "allowed: at most 10 (--max-bytes)");
    run_with_input(&["tokenize", text(&story), "--max-bytes", "10"], &text_of(10)).succeeded();
    run(&["tokenize", text(&story), "--max-bytes", "2", "abc"]).refused(1, "3 bytes");
    // 64 bytes for each of the 512 tokens of the context
    run_with_input(&["complete", "-m", text(&story)], &text_of(64 * 512 + 1)).refused(1, "more than 32768 bytes");
}

#[test]
fn c09_a_prompt_without_tokens() {
    let story = story();
    let mut metadata = inkstone::gguf::Gguf::open(&story, &Default::default()).unwrap().metadata().clone();
    metadata.insert("tokenizer.ggml.add_bos_token", false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no-bos.gguf");
    let original = inkstone::gguf::Gguf::open(&story, &Default::default()).unwrap();
    let specs = original.tensors().iter().map(|t| TensorSpec::new(t.name.clone(), t.dtype.known().unwrap(), &t.dims));
    write_gguf(&path, &metadata, specs.collect());
    run(&["complete", "-m", text(&path), "-p", ""]).refused(1, "the prompt has no tokens");
    assert_eq!(run(&["tokenize", text(&path), "", "--ids"]).succeeded().text(), "[]\n");
    assert_eq!(run(&["tokenize", text(&path), ""]).succeeded().text(), "");
    assert_eq!(run_with_input(&["tokenize", text(&path), "--ids"], b"").succeeded().text(), "[]\n");
}

/// Whatever the address space: the text, or one line that says what is missing.
#[cfg(target_os = "linux")]
#[test]
fn little_memory_is_one_line_or_the_text() {
    let limits = (40..100).step_by(4).chain((100..=600).step_by(50));
    let mut refused = 0;
    for megabytes in limits {
        let mut shell = std::process::Command::new("sh");
        common::isolate(&mut shell);
        shell.env("INKSTONE", program().get_program()).stdin(std::process::Stdio::null());
        shell.arg("-c").arg(format!("ulimit -v {megabytes}000; exec \"$INKSTONE\" complete Once -n 2 -t 1"));
        let ran: common::Ran = shell.output().unwrap().into();
        let lines = ran.stderr.lines().filter(|line| !line.starts_with("note: ")).count();
        assert_eq!(lines, 1, "{megabytes} MB: {}", ran.stderr);
        match ran.code {
            Some(0) => assert!(ran.stderr.contains("finish length"), "{megabytes} MB: {}", ran.stderr),
            code => {
                assert_eq!(code, Some(1), "{megabytes} MB: {}", ran.stderr);
                assert!(ran.stderr.starts_with("error: "), "{megabytes} MB: {}", ran.stderr);
                refused += 1;
            }
        }
    }
    assert!((1..20).contains(&refused), "{refused} refused");
}
