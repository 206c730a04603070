//! Values over HTTP with axum: `PUT`, `GET` and `DELETE` of a key.
//!
//! `cargo run --manifest-path crates/frostline/examples/axum/Cargo.toml -- FILE 127.0.0.1:8080` serves until Ctrl-C; then
//! `curl -X PUT -d hello http://127.0.0.1:8080/greeting` and `curl http://127.0.0.1:8080/greeting`.
//!
//! A request that needs a page, or waits for its commit to be durable, holds no thread: two threads
//! serve as many requests as come. What they need is read together, and requests that come together
//! are committed together, with one flush.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use frostline::{Db, Table};
use tokio::net::TcpListener;

/// The state that all requests share.
#[derive(Clone)]
struct Shared {
    db: Arc<Db>,
    values: Table,
}

type Answer = Result<Bytes, StatusCode>;

/// What goes wrong in the database is the server's.
fn failed(error: frostline::Error) -> StatusCode {
    eprintln!("{error}");
    StatusCode::INTERNAL_SERVER_ERROR
}

async fn put(State(shared): State<Shared>, Path(key): Path<String>, value: Bytes) -> Answer {
    shared.db.aio().put(shared.values, key, value).await.map_err(failed)?;
    Ok(Bytes::new())
}

async fn look_up(State(shared): State<Shared>, Path(key): Path<String>) -> Answer {
    let found = shared.db.aio().get(shared.values, key).await.map_err(failed)?;
    found.map(Bytes::from).ok_or(StatusCode::NOT_FOUND)
}

async fn delete(State(shared): State<Shared>, Path(key): Path<String>) -> Answer {
    shared.db.aio().delete(shared.values, key).await.map_err(failed)?;
    Ok(Bytes::new())
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (file, address) = (arguments.next(), arguments.next());
    let db = Db::open(file.as_deref().unwrap_or("values.frost"))?;
    let shared = Shared { values: db.table("values")?, db: Arc::new(db) };
    let db = shared.db.clone();
    let routes = Router::new().route("/{key}", get(look_up).put(put).delete(delete));
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:8080")).await?;
    println!("serving at {}", listener.local_addr()?);
    let until = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, routes.with_state(shared)).with_graceful_shutdown(until).await?;
    if let Some(db) = Arc::into_inner(db) {
        db.close()?;
    }
    Ok(())
}
