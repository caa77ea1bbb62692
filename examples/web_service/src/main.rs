//! A web service: `web_service [ADDRESS] [MODEL]` answers `POST /generate` with a text that is streamed in pieces.
//!
//! ```sh
//! curl -N localhost:8080/generate --json '{"prompt": "Once upon a time", "options": {"max_tokens": 100}}'
//! ```
//!
//! When a client disconnects, axum drops the body of the response and the stream in it, and the generation ends after the
//! current step.

#[cfg(test)]
mod tests;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use inkstone::{ErrorKind, Model, ModelOptions, Options};
use serde::Deserialize;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    // Up to 16 requests are computed at the same time; further requests wait.
    let options = ModelOptions::default().sequences(16);
    let model = match arguments.next() {
        Some(path) => Model::open_with(path, &options)?,
        None => Model::embedded(&options)?,
    };
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, service(model)).await?;
    Ok(())
}

fn service(model: Model) -> Router {
    Router::new().route("/generate", post(generate)).with_state(model)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    prompt: String,
    #[serde(default)]
    options: Options,
}

async fn generate(State(model): State<Model>, Json(request): Json<Request>) -> Response {
    // The model computes on other threads; this task only waits for pieces.
    let mut pieces = model.stream_async(request.prompt, &request.options);
    match pieces.next().await {
        // An invalid request ends before the first piece, so the response can still have an error status.
        Some(Err(error)) => (status(error.kind()), error.to_string()).into_response(),
        first => Body::from_stream(stream::iter(first).chain(pieces).map_ok(|piece| piece.text)).into_response(),
    }
}

fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InvalidRequest => StatusCode::BAD_REQUEST,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
        ErrorKind::OutOfMemory | ErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
