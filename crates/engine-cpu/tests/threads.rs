//! The engine's threads under stress: many submits, more threads than cores, other load, threads that submit at once. A
//! watchdog says what waits for what where a run would hang.

mod rig;

use inkstone_compute::{EngineOptions, Error};
use inkstone_engine_cpu::Tile;
use inkstone_tensor::step::StepError;
use rig::{Rig, input, kernel, output, own, plan, step, sum_rows};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};
use std::{panic, thread};

/// A run takes microseconds; this is for machines that do everything else first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two branches that meet, with steps of one tile and of many, in memory that is used again.
fn branches() -> inkstone_compute::Plan {
    let steps = vec![
        step("double", 1, &[input(), own(1, true)]),
        step("double", 8, &[input(), own(2, true)]),
        step("double", 3, &[own(1, false), own(3, true)]),
        step("double", 8, &[own(2, false), own(4, true)]),
        step("sum", 1, &[own(3, false), own(4, false), own(5, true)]),
        step("double", 2, &[own(5, false), own(1, true)]),
        step("sum", 8, &[own(1, false), own(3, false), output(6)]),
    ];
    plan(steps)
}

/// What the plan gives: 2 * 8 x + 4 x.
fn wanted(x: f32) -> f32 {
    20.0 * x
}

/// Tiles that ran, and those that workers ran.
static RAN: AtomicUsize = AtomicUsize::new(0);
static HELPED: AtomicUsize = AtomicUsize::new(0);

fn double(tile: &mut Tile) -> Result<(), StepError> {
    if thread::current().name().is_some_and(|name| name.starts_with("inkstone-cpu")) {
        HELPED.fetch_add(1, Ordering::Relaxed);
    }
    // Some dawdle.
    if RAN.fetch_add(1, Ordering::Relaxed).is_multiple_of(500) {
        thread::yield_now();
    }
    for row in tile.rows.clone() {
        let x = tile.ins[0].row::<f32>(row)[0];
        tile.outs[0].row::<f32>(row)[0] = 2.0 * x;
    }
    Ok(())
}

fn options(threads: usize) -> EngineOptions {
    EngineOptions::default().threads(threads).with_kernel(kernel("sum", sum_rows)).with_kernel(kernel("double", double))
}

/// Runs the plan `submits` times, several submits before each look at the result; fails, with what waits for what, where
/// it would hang.
fn stress(mut rig: Rig, submits: usize) {
    let engine = rig.engine.clone();
    let (done, finished) = channel();
    let worker = thread::spawn(move || {
        // Workers come when the system lets them: no run waits for that, but this test does.
        let before = HELPED.load(Ordering::Relaxed);
        for i in (0..).take_while(|i| *i < submits || HELPED.load(Ordering::Relaxed) == before) {
            let x = (i % 100) as f32;
            let rows: Vec<f32> = (0..1 + i % rig::ROWS).map(|r| x + r as f32).collect();
            rig.feed(&rows).unwrap();
            let mut ticket = rig.submit().unwrap();
            for _ in 0..i % 3 {
                ticket = rig.submit().unwrap();
            }
            let found = rig.read(ticket, rows.len()).unwrap();
            assert!(found.iter().zip(&rows).all(|(y, x)| *y == wanted(*x)), "submit {i}: {found:?} of {rows:?}");
        }
        done.send(()).unwrap();
    });
    let hangs = finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
    assert!(!hangs, "hangs: {engine:?}");
    worker.join().unwrap();
}

fn rig(threads: usize) -> Rig {
    Rig::new(&options(threads), branches()).unwrap()
}

#[test]
fn ten_thousand_submits_in_a_row() {
    stress(rig(2), 5000);
    stress(rig(3), 5000);
}

#[test]
fn more_threads_than_cores() {
    stress(rig(32), 300);
}

#[test]
fn h5_other_threads_take_all_cores() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let hogs: Vec<_> = (0..2 * cores)
        .map(|_| {
            thread::spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    stress(rig(2 * cores), 30);
    STOP.store(true, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| hog.join().unwrap());
}

#[test]
fn several_threads_submit_at_once() {
    let engine = rig(3).engine;
    let (done, finished) = channel();
    let mut threads = Vec::new();
    for rows in 1..=4 {
        // Each its own plan, arena and ports, on one engine.
        let mut rig = Rig::on(&engine, branches()).unwrap();
        let done = done.clone();
        threads.push(thread::spawn(move || {
            for i in 0..500 {
                let fed = vec![i as f32; rows];
                assert_eq!(rig.run(&fed).unwrap(), vec![wanted(i as f32); rows]);
            }
            done.send(()).unwrap();
        }));
    }
    drop(done);
    for _ in 0..threads.len() {
        let hangs = finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        assert!(!hangs, "hangs: {engine:?}");
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
}

/// Who waits for a run does it alone if need be, whatever run it saw first: another begins as soon as one ends.
#[test]
fn who_waits_needs_no_help_of_who_submits() {
    let mut submits = rig(1);
    let mut writes = Rig::on(&submits.engine, branches()).unwrap();
    let engine = submits.engine.clone();
    let ((begin, begins), (done, finished)) = (sync_channel(0), channel());
    let writer = thread::spawn(move || {
        for () in begins {
            writes.feed(&[1.0]).unwrap();
            done.send(()).unwrap();
        }
    });
    submits.feed(&[1.0]).unwrap();
    for _ in 0..3000 {
        begin.send(()).unwrap();
        for _ in 0..4 {
            submits.submit().unwrap();
        }
        let hangs = finished.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        assert!(!hangs, "hangs: {engine:?}");
    }
    drop(begin);
    writer.join().unwrap();
}

/// Waits, but not for ever, until so many are here.
fn meet(here: &AtomicUsize, all: usize) -> bool {
    here.fetch_add(1, Ordering::SeqCst);
    let late = Instant::now() + PATIENCE;
    while here.load(Ordering::SeqCst) < all && Instant::now() < late {
        thread::yield_now();
    }
    here.load(Ordering::SeqCst) >= all
}

#[test]
fn h5_a_worker_that_panics_is_an_error_and_the_engine_goes_on() {
    static HERE: AtomicUsize = AtomicUsize::new(0);
    static PANICS: AtomicBool = AtomicBool::new(true);
    /// Needs two threads at once, of which the engine's own panics.
    fn rigged(tile: &mut Tile) -> Result<(), StepError> {
        if PANICS.load(Ordering::SeqCst) {
            assert!(meet(&HERE, 2), "nobody else came");
            let name = thread::current().name().unwrap_or_default().to_owned();
            assert!(!name.starts_with("inkstone-cpu"), "by {name}");
        }
        double(tile)
    }
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let steps = vec![step("rigged", 4, &[input(), own(1, true)]), step("double", 1, &[own(1, false), output(2)])];
    let mut rig = Rig::new(&options(2).with_kernel(kernel("rigged", rigged)), plan(steps)).unwrap();
    let error = rig.run(&[1.0; 8]).unwrap_err();
    panic::set_hook(hook);
    let wanted = "plan sums, step 0 (map) panicked: by inkstone-cpu-1";
    assert!(matches!(&error, Error::Panicked { .. }) && error.to_string() == wanted, "{error}");
    PANICS.store(false, Ordering::SeqCst);
    for _ in 0..100 {
        assert_eq!(rig.run(&[1.0, 2.0, 3.0]).unwrap(), [4.0, 8.0, 12.0]);
    }
}
