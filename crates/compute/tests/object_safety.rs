//! Engines, queues and executables are used behind pointers, from any thread.

use inkstone_compute::{
    Bindings, Buffer, Engine, EngineOptions, Engines, Executable, Queue, Reference, Usage, Weights,
};
use std::sync::Arc;

fn shared<T: Send + Sync + ?Sized>() {}
fn sent<T: Send + ?Sized>() {}

#[test]
fn traits_are_object_safe_and_cross_threads() {
    shared::<dyn Engine>();
    shared::<dyn Executable>();
    shared::<Buffer>();
    shared::<Weights>();
    shared::<Bindings>();
    shared::<Engines>();
    sent::<dyn Queue>();
}

#[test]
fn an_engine_is_used_without_its_type() {
    let engines: Vec<Arc<dyn Engine>> =
        vec![Arc::new(Reference::new(&EngineOptions::default().budget(1 << 20)).unwrap())];
    for engine in engines {
        let engine: &dyn Engine = engine.as_ref();
        let mut queue: Box<dyn Queue> = engine.queue().unwrap();
        let buffer = engine.alloc(8, Usage::Port).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut bytes = [7; 8];
                queue.write(&buffer, 0, &[1, 2]).unwrap();
                queue.read(&buffer, 0, &mut bytes).unwrap();
                assert_eq!(bytes, [1, 2, 0, 0, 0, 0, 0, 0]);
            });
        });
    }
}
