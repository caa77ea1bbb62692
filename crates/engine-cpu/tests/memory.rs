//! Memory of buffers.

use inkstone_compute::{Engine, EngineOptions, Usage};
use inkstone_engine_cpu::Cpu;

/// Bytes of this process that are in memory.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * text.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_buffer_takes_memory_when_it_is_touched() {
    let engine = Cpu::new(&EngineOptions::default().budget(1 << 30)).unwrap();
    let before = resident();
    let buffer = engine.alloc(1 << 29, Usage::State).unwrap();
    assert!(resident() < before + (1 << 26), "{} bytes before, {} with a buffer", before, resident());
    let mut queue = engine.queue().unwrap();
    queue.write(&buffer, (1 << 29) - 4, &[1, 2, 3, 4]).unwrap();
    assert!(queue.write(&buffer, (1 << 29) - 3, &[1, 2, 3, 4]).is_err());
}
