//! Large valid files load in time that grows with their entries: with 100 times the entries each may cost a few times as
//! much (caches), never 100 times, as with anything quadratic.

mod common;

use common::*;
use inkstone_gguf::Gguf;
use inkstone_tensor::SharedBytes;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const FEW: usize = 10_000;
/// The smaller first, so that what is quadratic fails before it takes minutes.
const MANY: [usize; 2] = [200_000, 1_000_000];
/// How many times as much an entry may cost among many.
const RATIO: f64 = 12.0;
/// One measurement at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// The best of several: what other programs do to the machine only makes it longer.
fn time_to_open(raw: Raw, entries: impl Fn(&Gguf) -> usize, wanted: usize) -> Duration {
    let bytes: SharedBytes = Arc::new(raw.0);
    let once = || {
        let start = Instant::now();
        let file = Gguf::from_bytes(bytes.clone(), "test.gguf").unwrap();
        let time = start.elapsed();
        assert_eq!(entries(&file), wanted);
        time
    };
    (0..2).map(|_| once()).min().unwrap()
}

fn assert_linear(make: impl Fn(usize) -> Raw, entries: impl Fn(&Gguf) -> usize) {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let few = time_to_open(make(FEW), &entries, FEW).as_secs_f64() / FEW as f64;
    for n in MANY {
        let many = time_to_open(make(n), &entries, n).as_secs_f64() / n as f64;
        println!("{:.0} ns an entry of {FEW}, {:.0} ns of {n}", few * 1e9, many * 1e9);
        assert!(many < few * RATIO, "{many} s an entry of {n}, {few} s of {FEW}");
    }
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
