//! Streams for tasks of an executor.

use crate::output::Output;
use crate::{Error, FinishReason, Piece, Stream, Timings, Usage};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// The number of unread pieces at which the thread pauses.
const AHEAD: usize = 4;

/// A running generation as a [`futures_core::Stream`] of pieces, for any executor. Polling never computes and never
/// waits for a step: the stream has its own thread, which tokenizes the prompt, takes its turns in the steps of the
/// model, and runs at most four pieces ahead of the task. After each piece a poll lets other tasks run once, for a
/// model of any speed.
///
/// Dropping the stream ends the generation after the current step.
///
/// The threads of many streams take turns at one scheduler and sleep otherwise, so a thread per stream costs little; a program
/// limits the number of streams itself. An error is the last item. If the system has no thread left, an error is the only item.
pub struct AsyncStream<E = Error> {
    shared: Arc<Shared<E>>,
    /// The last poll returned a piece, and no other task could run since then.
    gave: bool,
}

/// The state that the thread and the task share.
struct Shared<E> {
    state: Mutex<State<E>>,
    /// Signalled when the thread may continue.
    room: Condvar,
}

struct State<E> {
    pieces: VecDeque<Result<Piece, E>>,
    /// The thread has ended.
    done: bool,
    /// The task has dropped the stream.
    dropped: bool,
    /// The task that waits for a piece or for the end.
    task: Option<Waker>,
    /// The sequence, once the prompt is tokenized, with its seed.
    opened: Option<(Arc<Output>, u64)>,
}

impl<E> Shared<E> {
    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: From<Error> + Send + 'static> AsyncStream<E> {
    /// Starts a thread that calls `open` and runs the stream. Neither this call nor a poll waits for `open`.
    pub fn spawn(open: impl FnOnce() -> Result<Stream, E> + Send + 'static) -> AsyncStream<E> {
        let state = State { pieces: VecDeque::new(), done: false, dropped: false, task: None, opened: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), room: Condvar::new() });
        let sender = Sender(shared.clone());
        let thread = thread::Builder::new().name("inkstone-stream".to_owned());
        if let Err(error) = thread.spawn(move || sender.run(open)) {
            let mut state = shared.lock();
            state.pieces.push_back(Err(Error::NoThread(error).into()));
            state.done = true;
        }
        AsyncStream { shared, gave: false }
    }
}

impl<E> AsyncStream<E> {
    /// The seed of its draws; `None` until the prompt is tokenized.
    pub fn seed(&self) -> Option<u64> {
        self.shared.lock().opened.as_ref().map(|(_, seed)| *seed)
    }

    /// The counts up to now.
    pub fn usage(&self) -> Usage {
        self.output().map(|output| output.lock().usage).unwrap_or_default()
    }

    /// The times up to now, from the end of tokenization.
    pub fn timings(&self) -> Timings {
        self.output().map(|output| output.lock().timings()).unwrap_or_default()
    }

    /// The reason for its end, if it has ended; some pieces may still be unread.
    pub fn finish(&self) -> Option<FinishReason> {
        self.output()?.lock().finish
    }

    fn output(&self) -> Option<Arc<Output>> {
        self.shared.lock().opened.as_ref().map(|(output, _)| output.clone())
    }
}

impl<E> futures_core::Stream for AsyncStream<E> {
    type Item = Result<Piece, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Piece, E>>> {
        let gave = std::mem::take(&mut self.gave);
        let mut state = self.shared.lock();
        if gave && !state.pieces.is_empty() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(piece) = state.pieces.pop_front() else {
            if state.done {
                return Poll::Ready(None);
            }
            state.task = Some(context.waker().clone());
            return Poll::Pending;
        };
        drop(state);
        self.shared.room.notify_one();
        self.gave = true;
        Poll::Ready(Some(piece))
    }
}

impl<E> Drop for AsyncStream<E> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.dropped = true;
        if let Some((output, _)) = &state.opened {
            output.abandon(FinishReason::Callback);
        }
        drop(state);
        self.shared.room.notify_one();
    }
}

impl<E> fmt::Debug for AsyncStream<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (usage, finish) = (self.usage(), self.finish());
        f.debug_struct("AsyncStream").field("usage", &usage).field("finish", &finish).finish_non_exhaustive()
    }
}

/// The sending side, in the thread. Dropping it tells the task that the thread has ended, for any reason.
struct Sender<E: From<Error>>(Arc<Shared<E>>);

impl<E: From<Error>> Sender<E> {
    fn run(self, open: impl FnOnce() -> Result<Stream, E>) {
        match open() {
            Ok(mut stream) if self.opened(&stream) => {
                stream.all(|piece| self.send(piece.map_err(E::from)));
            }
            Ok(_) => {}
            Err(error) => {
                self.send(Err(error));
            }
        }
    }

    /// Publishes the sequence, so that the task can end it. False if the stream was dropped before.
    fn opened(&self, stream: &Stream) -> bool {
        let mut state = self.0.lock();
        state.opened = Some((stream.output().clone(), stream.seed()));
        !state.dropped
    }

    /// Queues a piece when there is room. False if the stream was dropped.
    fn send(&self, piece: Result<Piece, E>) -> bool {
        let full = |state: &mut State<E>| state.pieces.len() >= AHEAD && !state.dropped;
        let state = self.0.room.wait_while(self.0.lock(), full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.dropped {
            return false;
        }
        state.pieces.push_back(piece);
        wake(state);
        true
    }
}

impl<E: From<Error>> Drop for Sender<E> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if thread::panicking() {
            state.pieces.push_back(Err(Error::Panicked.into()));
        }
        state.done = true;
        wake(state);
    }
}

/// Wakes the task after releasing the lock, because the task may poll immediately.
fn wake<E>(mut state: MutexGuard<'_, State<E>>) {
    let task = state.task.take();
    drop(state);
    if let Some(task) = task {
        task.wake();
    }
}
