//! Large valid files load in time that grows with their entries: one of a million may cost a few times as much as a
//! hundred of ten thousand (caches), never a hundred times, as with anything quadratic.

use crate::common::*;
use inkstone_gguf::Gguf;
use inkstone_tensor::SharedBytes;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

const FEW: usize = 10_000;
const MANY: usize = 1_000_000;
/// How many times as much the one large file may cost.
const RATIO: f64 = 20.0;
/// One measurement at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// CPU time of this thread, so that the load of other programs hardly counts; the time of day where the system does not
/// report it.
fn busy_time() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    // The system counts when it takes the processor away, or at a tick: some milliseconds, in which all can be over.
    std::thread::sleep(Duration::from_micros(1));
    let busy = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = busy.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

fn time_to_open(raw: Raw, times: usize, entries: impl Fn(&Gguf) -> usize, wanted: usize) -> Duration {
    let bytes: SharedBytes = Arc::new(raw.0);
    let start = busy_time();
    for _ in 0..times {
        let file = Gguf::from_bytes(bytes.clone(), "test.gguf").unwrap();
        assert_eq!(entries(&file), wanted);
    }
    busy_time() - start
}

fn assert_linear(make: impl Fn(usize) -> Raw, entries: impl Fn(&Gguf) -> usize) {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let few = time_to_open(make(FEW), MANY / FEW, &entries, FEW);
    let many = time_to_open(make(MANY), 1, &entries, MANY);
    println!("{MANY} entries: {many:?} in one file, {few:?} in files of {FEW}");
    assert!(many < few.mul_f64(RATIO), "{MANY} entries: {many:?} in one file, {few:?} in files of {FEW}");
}

#[test]
fn a20_a_million_keys_load_in_linear_time() {
    let make = |n: usize| (0..n).fold(Raw::new(0, n as u64), |raw, i| raw.key(&format!("key.{i}"), U32).u32(i as u32));
    assert_linear(make, |file| file.metadata().len());
}

#[test]
fn a20_a_million_tensors_load_in_linear_time() {
    // Not in the order of the data: the check for overlap has to sort.
    let place = |i: usize, n: usize| (i * 7 % n) as u64 * 32;
    let tensor = |raw: Raw, i: usize, n: usize| raw.tensor(&format!("blk.{i}.weight"), &[8], F32, place(i, n));
    let make = |n: usize| (0..n).fold(Raw::new(n as u64, 0), |raw, i| tensor(raw, i, n)).data(n * 32);
    assert_linear(make, |file| file.tensors().len());
}

#[test]
fn a20_a_million_strings_load_in_linear_time() {
    let make = |n: usize| {
        let list = Raw::new(0, 1).key("tokens", ARRAY).u32(STRING).u64(n as u64);
        (0..n).fold(list, |raw, i| raw.string(i.to_string()))
    };
    assert_linear(make, |file| file.metadata().strings("tokens").unwrap().unwrap().len());
}
