//! Where results go, and what happens when they can't.

use crate::common::{self, Ran, program, run, story};
use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

fn logits(out: &Path) -> Ran {
    run(&["logits", story().to_str().unwrap(), "--ids", "1,322", "--out", out.to_str().unwrap()])
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// `| head`: the reader takes a few bytes and goes.
#[test]
fn e07_a_closed_pipe_ends_the_program_quietly() {
    let story = story();
    let commands: [&[&str]; 4] = [
        // Several times what a pipe holds: it is not at its end when the reader goes.
        &["complete", "Once upon a time", "--json", "--seed", "3", "--logprobs", "20"],
        &["show", story.to_str().unwrap()],
        &["completions", "bash"],
        &["complete", "--help"],
    ];
    for command in commands {
        let mut child = program().args(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 5]).unwrap();
        drop(pipe);
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_with_a_name_gets_the_bytes_that_a_file_gets() {
    let folder = tempfile::tempdir().unwrap();
    let (file, pipe) = (folder.path().join("x.npy"), folder.path().join("pipe"));
    logits(&file).succeeded();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (sender, receiver) = std::sync::mpsc::channel();
    let from = pipe.clone();
    std::thread::spawn(move || sender.send(std::fs::read(from).unwrap()));
    // On a thread, because a second look for a reader would never end.
    let written = std::thread::spawn(move || logits(&pipe));
    let read = receiver.recv_timeout(common::PATIENCE).unwrap();
    assert!(read == std::fs::read(file).unwrap(), "{} bytes came out of the pipe", read.len());
    written.join().unwrap().succeeded();
}

#[cfg(target_os = "linux")]
#[test]
fn e07_a_full_disk_is_an_error() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let story = story();
    for command in [&["complete", "Once", "-n", "3"][..], &["show", story.to_str().unwrap()], &["--help"]] {
        let ran = Ran::from(program().args(command).stdout(full()).output().unwrap());
        ran.refused(1, "standard output: can't write: ");
    }
    logits(Path::new("/dev/full")).refused(1, "/dev/full: can't write: ");
    assert!(!std::fs::metadata("/dev/full").unwrap().is_file(), "the device was replaced by a file");
}

#[cfg(unix)]
#[test]
fn e07_a_folder_that_takes_no_file_is_an_error_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    logits(&folder.path().join("no/such/x.npy")).refused(1, "x.npy: can't write: ");
    logits(folder.path()).refused(1, "can't write: ");
    logits(Path::new("/proc/x.npy")).refused(1, "/proc/x.npy: can't write: ");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn e07_the_model_is_never_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.gguf");
    std::fs::copy(story(), &model).unwrap();
    let (hard, soft) = (folder.path().join("hard"), folder.path().join("soft"));
    std::fs::hard_link(&model, &hard).unwrap();
    std::os::unix::fs::symlink(&model, &soft).unwrap();
    for out in [&model, &hard, &soft] {
        let ran = run(&["logits", model.to_str().unwrap(), "--ids", "1", "--out", out.to_str().unwrap()]);
        ran.refused(2, "is the model itself, allowed: another file");
    }
    assert_eq!(std::fs::read(&model).unwrap(), std::fs::read(story()).unwrap());
}
