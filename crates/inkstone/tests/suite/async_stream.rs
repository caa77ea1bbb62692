//! Streams for tasks, on an executor with one thread.

use futures_util::StreamExt;
use inkstone::{AsyncStream, Error, ErrorKind, FinishReason, Message, Model, ModelOptions, Options};
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

fn story() -> Model {
    Model::embedded(&ModelOptions::default().ctx(256)).unwrap()
}

fn draws(seed: u64, tokens: u64) -> Options {
    Options::default().seed(seed).max_tokens(tokens)
}

fn on_one_thread<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(task)
}

async fn text(mut stream: AsyncStream) -> Result<String, Error> {
    let mut text = String::new();
    while let Some(piece) = stream.next().await {
        text += &piece?.text;
    }
    Ok(text)
}

/// A task that counts its turns: between two of them the executor may run any other task.
async fn counted<T>(turns: Arc<AtomicU64>, task: impl Future<Output = T>) -> T {
    let mut task = pin!(task);
    poll_fn(|context| {
        turns.fetch_add(1, SeqCst);
        task.as_mut().poll(context)
    })
    .await
}

#[test]
fn many_streams_give_the_texts_of_generate_and_each_piece_has_a_turn_of_its_own() {
    let model = story();
    let read = |seed: u64| {
        let (mut stream, turns) = (model.stream_async("Once upon a time", &draws(seed, 12)), Arc::default());
        let counts: Arc<AtomicU64> = Arc::clone(&turns);
        counted(turns, async move {
            let (mut text, mut before) = (String::new(), 0);
            while let Some(piece) = stream.next().await {
                let turn = counts.load(SeqCst);
                assert!(turn > before, "two pieces in turn {turn}: no other task could run between them");
                before = turn;
                text += &piece.unwrap().text;
            }
            assert_eq!((stream.seed(), stream.usage().completion_tokens), (Some(seed), 12));
            assert_eq!(stream.finish(), Some(FinishReason::Length));
            text
        })
    };
    let texts = on_one_thread(async {
        let tasks: Vec<_> = (0..64).map(|seed| tokio::spawn(read(seed))).collect();
        // Another task, which is always ready. It ends with the runtime.
        let other = Arc::new(AtomicU64::new(0));
        tokio::spawn(counted(other.clone(), async {
            loop {
                tokio::task::yield_now().await;
            }
        }));
        let mut texts = Vec::new();
        for task in tasks {
            texts.push(task.await.unwrap());
        }
        assert!(other.load(SeqCst) > 12, "another task had {other:?} turns");
        texts
    });
    for (seed, text) in (0..).zip(texts) {
        assert_eq!(text, model.generate("Once upon a time", &draws(seed, 12)).unwrap().text, "seed {seed}");
    }
}

#[test]
fn a_chat_can_be_streamed_too() {
    let (model, messages) = (story(), [Message::user("Tell me of a cat.")]);
    let wanted = model.chat(&messages, &draws(3, 12)).unwrap().text;
    assert_eq!(on_one_thread(text(model.chat_stream_async(&messages, &draws(3, 12)))).unwrap(), wanted);
}

#[test]
fn what_is_wrong_is_the_only_item() {
    let model = story();
    let wrong = [
        model.stream_async("", &draws(1, 5).bos(false)),
        model.stream_async("word ".repeat(500), &draws(1, 5)),
        model.stream_async("Once", &draws(1, 5).top_p(2.0)),
        model.chat_stream_async(&[Message::user("Hi")], &draws(1, 5).template_var("messages", 1)),
    ];
    for mut stream in wrong {
        let (first, second) = on_one_thread(async { (stream.next().await, stream.next().await) });
        let error = first.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{error}");
        assert!(second.is_none(), "{error}");
    }
    let mut stream = AsyncStream::spawn(|| resume_unwind(Box::new("a fault")));
    let (first, second) = on_one_thread(async { (stream.next().await, stream.next().await) });
    assert!(first.unwrap().unwrap_err().to_string().contains("panicked") && second.is_none());
}

#[test]
fn streams_that_nobody_reads_leave_the_model() {
    let model = story();
    for seed in 0..64 {
        let stream = model.stream_async("Once", &draws(seed, 200));
        // Some are dropped before their threads have begun, some later.
        thread::sleep(Duration::from_micros(seed * 30));
        drop(stream);
    }
    let start = Instant::now();
    while model.generator().pages().0 < model.generator().pages().1 {
        assert!(start.elapsed() < Duration::from_secs(60), "pages are still held");
        thread::sleep(Duration::from_millis(1));
    }
    assert!(!on_one_thread(text(model.stream_async("Once", &draws(1, 5)))).unwrap().is_empty());
}

#[test]
fn a_stream_can_go_to_any_thread_and_be_pinned_anywhere() {
    fn is_free<T: Send + Unpin + 'static>(_: &T) {}
    let stream = story().stream_async("Once", &draws(1, 5));
    is_free(&stream);
    assert!(format!("{stream:?}").starts_with("AsyncStream { usage: "), "{stream:?}");
    // The stream keeps the model, whose only handle is gone.
    let text = thread::spawn(|| on_one_thread(text(stream))).join().unwrap().unwrap();
    assert_eq!(text, story().generate("Once", &draws(1, 5)).unwrap().text);
}
