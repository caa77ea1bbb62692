//! Tests the service over local sockets.

use super::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Starts the service on a free port.
fn serve(model: Model) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, service(model)).await.unwrap();
        });
    });
    address
}

/// Opens a connection and sends a request.
fn post(address: SocketAddr, body: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = "POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close";
    write!(connection, "{head}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    connection
}

fn answer(address: SocketAddr, body: &str) -> String {
    let mut answer = String::new();
    post(address, body).read_to_string(&mut answer).unwrap();
    answer
}

/// The text of a chunked response, where each chunk follows a line with its length.
fn text(answer: &str) -> String {
    let mut rest = answer.split_once("\r\n\r\n").unwrap().1;
    let mut text = String::new();
    loop {
        let (length, chunk) = rest.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return text;
        }
        text += &chunk[..length];
        rest = &chunk[length + 2..];
    }
}

#[test]
fn an_answer_is_the_text_and_an_error_has_its_status() {
    let model = Model::embedded(&ModelOptions::default()).unwrap();
    let address = serve(model.clone());
    let answered = answer(address, r#"{"prompt": "Once", "options": {"seed": 7, "max_tokens": 20}}"#);
    assert!(answered.starts_with("HTTP/1.1 200 OK\r\n"), "{answered}");
    let wanted = model.generate("Once", &Options::default().seed(7).max_tokens(20)).unwrap().text;
    assert_eq!(text(&answered), wanted);

    let refused = answer(address, r#"{"prompt": "Once", "options": {"top_p": 2}}"#);
    assert!(refused.starts_with("HTTP/1.1 400 Bad Request\r\n") && refused.contains("top-p is 2"), "{refused}");
    let unknown = answer(address, r#"{"prompt": "Once", "options": {"top_q": 2}}"#);
    assert!(unknown.starts_with("HTTP/1.1 422 "), "{unknown}");
    let unknown = answer(address, r#"{"prompt": "Once", "option": {"top_p": 2}}"#);
    assert!(unknown.starts_with("HTTP/1.1 422 "), "{unknown}");
}

#[test]
fn a_connection_that_is_dropped_ends_its_generation() {
    // The reference engine is slow, so that a complete generation takes many times as long as one that is ended early.
    let model = Model::embedded(&ModelOptions::default().engine("reference").ctx(256)).unwrap();
    let address = serve(model.clone());
    let body = r#"{"prompt": "Once", "options": {"seed": 7, "ignore_end": true, "max_tokens": 200}}"#;
    let start = Instant::now();
    answer(address, body);
    let whole = start.elapsed();

    let start = Instant::now();
    let mut connection = post(address, body);
    connection.read_exact(&mut [0; 200]).unwrap();
    drop(connection);
    let pages = || model.generator().pages();
    while pages().0 < pages().1 {
        assert!(start.elapsed() < whole, "the generation goes on");
        thread::sleep(Duration::from_millis(1));
    }
    assert!(start.elapsed() < whole / 2, "ended after {:?}, the whole takes {whole:?}", start.elapsed());
}
