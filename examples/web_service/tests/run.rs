//! The program listens, and answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn it_listens_and_answers() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_web_service"));
    let mut program = program.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap();

    let mut connection = TcpStream::connect(address).unwrap();
    let body = r#"{"prompt": "Once", "options": {"max_tokens": 3}}"#;
    let head = "POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close";
    write!(connection, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}
