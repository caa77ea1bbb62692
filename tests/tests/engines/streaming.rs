//! A file larger than the memory: its weights are used where they are mapped, the first of them locked, the rest read
//! again for each token. A child process runs it in a control group with little memory, which only root can make.

#![cfg(target_os = "linux")]

use inkstone::{Model, ModelOptions, Options, Reply};
use inkstone_tests::large::{self, CONTEXT, DEEP};
use inkstone_tests::tiny::BOS;
use std::fs::{File, read_to_string};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Where the file of a child is.
const FILE: &str = "INKSTONE_STREAMED_FILE";
/// The folder of its group.
const GROUP: &str = "INKSTONE_STREAMED_GROUP";
/// Memory of the child, for a file of 300 MB.
const MEMORY: u64 = 160 << 20;

/// A control group of memory; taken away when it is dropped.
struct Group(PathBuf);

impl Group {
    /// Below the group that this process is in, of either version; an error where that is not allowed.
    fn new(memory: u64) -> Result<Group, String> {
        let groups = read_to_string("/proc/self/cgroup").map_err(|e| e.to_string())?;
        let version = |controllers: &str| match controllers {
            "" => Some(("/sys/fs/cgroup", "memory.max")),
            "memory" => Some(("/sys/fs/cgroup/memory", "memory.limit_in_bytes")),
            _ => None,
        };
        let mut error = "no control groups of memory".to_owned();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(found), Some(path)) = (parts.next().and_then(version), parts.next()) else { continue };
            let name = format!("inkstone-{}", std::process::id());
            let group = Group(Path::new(found.0).join(path.trim_start_matches('/')).join(name));
            let made = std::fs::create_dir(&group.0).and_then(|()| {
                let limit = group.0.join(found.1);
                if limit.exists() {
                    std::fs::write(limit, memory.to_string())
                } else {
                    Err(std::io::Error::other("no limit"))
                }
            });
            match made {
                Ok(()) => return Ok(group),
                Err(e) => error = format!("{}: {e}", group.0.display()),
            }
        }
        Err(error)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir(&self.0);
    }
}

fn generate(model: &Model) -> Reply {
    model.generate_ids(&[BOS, 3, 4], &Options::default().temperature(0.0).ignore_end(true).max_tokens(6)).unwrap()
}

fn line(reply: &Reply) -> String {
    reply.ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Makes the system forget what it holds of a file.
fn forget(path: &Path) {
    let file = format!("if={}", path.display());
    assert!(Command::new("dd").args([&*file, "iflag=nocache", "count=0", "status=none"]).status().unwrap().success());
}

/// Bytes a second that the disk gives of a file.
fn disk(path: &Path) -> f64 {
    forget(path);
    let (mut file, mut buffer, mut bytes) = (File::open(path).unwrap(), vec![0; 4 << 20], 0);
    let begun = Instant::now();
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => return bytes as f64 / begun.elapsed().as_secs_f64(),
            n => bytes += n,
        }
    }
}

/// The part of a child: nothing without its variables.
#[test]
fn child_of_the_test_of_streaming() {
    let (Some(path), Some(group)) = (std::env::var_os(FILE), std::env::var_os(GROUP)) else { return };
    std::fs::write(Path::new(&group).join("cgroup.procs"), std::process::id().to_string()).unwrap();
    let model = Model::open_with(path, &ModelOptions::default().engine("cpu").mmap(true).ctx(CONTEXT)).unwrap();
    let (reply, memory) = (generate(&model), model.generator().footprint());
    let rate = reply.timings.decode_rate(&reply.usage).unwrap_or_default() * memory.streamed as f64;
    println!("outcome: {} {} {} {rate}", line(&reply), memory.locked, memory.streamed);
}

#[test]
fn a_file_larger_than_the_memory_gives_the_same_tokens() {
    let group = match Group::new(MEMORY) {
        Ok(group) => group,
        Err(error) => {
            // Seen also where the output of tests that pass is not.
            let line = format!("not run: a file larger than the memory: {error} (root can make a group)\n");
            std::io::stderr().write_all(line.as_bytes()).unwrap();
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.gguf");
    let bytes = large::write(&path, DEEP);
    assert!(bytes > MEMORY * 3 / 2, "{bytes} bytes");
    File::open(&path).unwrap().sync_all().unwrap();
    let model = Model::open_with(&path, &ModelOptions::default().engine("cpu").ctx(CONTEXT)).unwrap();
    let wanted = line(&generate(&model));
    drop(model);
    let disk = disk(&path);

    forget(&path);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "streaming::child_of_the_test_of_streaming", "--nocapture"])
        .env(FILE, &path)
        .env(GROUP, &group.0);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let outcome = text.lines().find_map(|l| l.split("outcome: ").nth(1));
    let outcome = outcome.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)));
    let [tokens, locked, streamed, rate] = outcome.split(' ').collect::<Vec<_>>()[..] else { panic!("{outcome}") };
    assert_eq!(tokens, wanted);
    let [locked, streamed] = [locked, streamed].map(|n| n.parse::<u64>().unwrap());
    assert!(locked > 0 && locked < MEMORY && streamed > bytes - MEMORY, "{locked} locked, {streamed} streamed");
    let rate: f64 = rate.parse().unwrap();
    println!(
        "{} MB of memory: {} MB locked, {} MB read for each token at {:.0} MB/s, {:.0}% of what the disk gives, {:.0} MB/s",
        MEMORY >> 20,
        locked >> 20,
        streamed >> 20,
        rate / 1e6,
        100.0 * rate / disk,
        disk / 1e6
    );
}
