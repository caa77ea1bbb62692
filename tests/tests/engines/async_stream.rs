//! Streams for tasks while a step is under way: nothing waits for it, and a dropped stream has no other.

use inkstone::compute::{self, Back, Buffer, Engine, EngineOptions, Executable, Queue, Ticket};
use inkstone::{AsyncStream, Model, ModelOptions, Options, Piece, engines};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// A gate before each step of an engine: how many may pass, and how many have come to it.
#[derive(Default)]
struct Gate {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    allowed: usize,
    came: usize,
}

impl Gate {
    /// A step comes, and waits until it may pass.
    fn pass(&self) {
        let mut counts = self.counts.lock().unwrap();
        counts.came += 1;
        self.changed.notify_all();
        let may_not = |counts: &mut Counts| counts.allowed == 0;
        self.changed.wait_while(counts, may_not).unwrap().allowed -= 1;
    }

    fn allow(&self, steps: usize) {
        self.counts.lock().unwrap().allowed = steps;
        self.changed.notify_all();
    }

    /// Waits until so many steps have come.
    fn await_steps(&self, steps: usize) {
        let fewer = |counts: &mut Counts| counts.came < steps;
        drop(self.changed.wait_while(self.counts.lock().unwrap(), fewer).unwrap());
    }

    fn came(&self) -> usize {
        self.counts.lock().unwrap().came
    }
}

/// An engine behind a gate.
struct Gated {
    inner: Arc<dyn Engine>,
    gate: Arc<Gate>,
}

impl Engine for Gated {
    inkstone::compute::pass_on! { inner: caps registry alloc alloc_all weight_bytes warm load prepare draws gauge }

    fn queue(&self) -> compute::Result<Box<dyn Queue>> {
        Ok(Box::new(GatedQueue { inner: self.inner.queue()?, gate: self.gate.clone() }))
    }
}

struct GatedQueue {
    inner: Box<dyn Queue>,
    gate: Arc<Gate>,
}

impl Queue for GatedQueue {
    fn submit(&mut self, executable: &Arc<dyn Executable>, back: &[Back]) -> compute::Result<Ticket> {
        self.gate.pass();
        self.inner.submit(executable, back)
    }
    fn write(&mut self, dst: &Buffer, offset: u64, bytes: &[u8]) -> compute::Result<()> {
        self.inner.write(dst, offset, bytes)
    }
    fn fetch(&mut self, ticket: Ticket, range: usize, into: &mut [u8]) -> compute::Result<()> {
        self.inner.fetch(ticket, range, into)
    }
    fn read(&mut self, src: &Buffer, offset: u64, into: &mut [u8]) -> compute::Result<()> {
        self.inner.read(src, offset, into)
    }
    fn wait(&mut self, ticket: Ticket) -> compute::Result<()> {
        self.inner.wait(ticket)
    }
}

/// The story model behind a gate of this name.
fn gated(name: &str) -> (Model, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let shared = gate.clone();
    let factory = move |options: &EngineOptions| {
        Ok(Arc::new(Gated { inner: engines::open("cpu", options).expect("an engine"), gate: shared.clone() }) as _)
    };
    engines::register(name, Arc::new(factory));
    (Model::embedded(&ModelOptions::default().engine(name).ctx(256).chunk(1)).unwrap(), gate)
}

/// A task that remembers that it was woken.
#[derive(Default)]
struct Task(Mutex<bool>, Condvar);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }
}

impl Task {
    fn poll(self: &Arc<Self>, stream: &mut AsyncStream) -> Poll<Option<inkstone::Result<Piece>>> {
        let waker = Waker::from(self.clone());
        futures_core::Stream::poll_next(Pin::new(stream), &mut Context::from_waker(&waker))
    }

    /// The next item, once the stream wakes the task.
    fn next(self: &Arc<Self>, stream: &mut AsyncStream) -> Option<inkstone::Result<Piece>> {
        loop {
            if let Poll::Ready(item) = self.poll(stream) {
                return item;
            }
            let not_yet = |woken: &mut bool| !*woken;
            *self.1.wait_while(self.0.lock().unwrap(), not_yet).unwrap() = false;
        }
    }
}

/// That all pages of a model are free, soon.
fn pages_come_back(model: &Model) {
    let start = Instant::now();
    while model.generator().pages().0 < model.generator().pages().1 {
        assert!(start.elapsed() < Duration::from_secs(60), "pages are still held");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_stream_dropped_while_it_draws_has_the_step_under_way_and_no_other() {
    let (model, gate) = gated("gated draws");
    let options = Options::default().seed(1).max_tokens(200).ignore_end(true);
    let prompt = model.generator().encode("Once", &options).unwrap().len();
    let (task, mut stream) = (Arc::new(Task::default()), model.stream_async("Once", &options));
    // The task polls while the first step waits: it is told to come back.
    gate.await_steps(1);
    assert!(task.poll(&mut stream).is_pending());
    gate.allow(prompt + 2);
    for _ in 0..3 {
        task.next(&mut stream).unwrap().unwrap();
    }
    // The next step has begun, and can't end. Another stream waits for it on a thread of its own.
    gate.await_steps(prompt + 3);
    let other = model.stream_async("Twice", &options);
    drop(stream);
    drop(other);
    gate.allow(usize::MAX);
    pages_come_back(&model);
    assert_eq!(gate.came(), prompt + 3, "steps");
}

#[test]
fn a_stream_dropped_while_its_prompt_is_read_has_the_step_under_way_and_no_other() {
    let (model, gate) = gated("gated prompts");
    // A step a token: the prompt takes many.
    let stream = model.stream_async("word ".repeat(50), &Options::default());
    gate.await_steps(1);
    gate.allow(3);
    gate.await_steps(4);
    drop(stream);
    gate.allow(usize::MAX);
    pages_come_back(&model);
    assert_eq!(gate.came(), 4, "steps");
}

#[test]
fn a_task_that_does_not_poll_pauses_its_stream() {
    let (model, gate) = gated("gated readers");
    gate.allow(usize::MAX);
    let options = Options::default().seed(1).max_tokens(30).ignore_end(true);
    let (task, mut stream) = (Arc::new(Task::default()), model.stream_async("Once", &options));
    let first = task.next(&mut stream).unwrap().unwrap().text;
    let prompt = model.generator().encode("Once", &options).unwrap().len();
    // Four pieces wait, and one is in the hand of the thread.
    gate.await_steps(prompt + 5);
    thread::sleep(Duration::from_millis(100));
    assert_eq!(gate.came(), prompt + 5, "steps");
    let mut text = first;
    while let Some(piece) = task.next(&mut stream) {
        text += &piece.unwrap().text;
    }
    assert_eq!(text, model.generate("Once", &options).unwrap().text);
}

#[test]
fn a_paused_stream_that_is_dropped_leaves_the_model() {
    let (model, gate) = gated("gated pauses");
    gate.allow(usize::MAX);
    let options = Options::default().seed(1).max_tokens(30).ignore_end(true);
    let prompt = model.generator().encode("Once", &options).unwrap().len();
    let stream = model.stream_async("Once", &options);
    // The thread waits for room for a fifth piece, and nothing but the drop wakes it.
    gate.await_steps(prompt + 4);
    thread::sleep(Duration::from_millis(100));
    drop(stream);
    pages_come_back(&model);
}
