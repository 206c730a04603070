//! Values over HTTP with axum: `PUT`, `GET` and `DELETE` of a key.
//!
//! `cargo run --manifest-path crates/frostline/examples/axum/Cargo.toml -- FILE 127.0.0.1:8080` serves until Ctrl-C; then
//! `curl -X PUT -d hello http://127.0.0.1:8080/greeting` and `curl http://127.0.0.1:8080/greeting`.
//!
//! A commit waits for the device, so each request goes to a thread that may wait. Requests that
//! come together are committed together: the database makes one flush of them.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use frostline::{Db, Table};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

/// The state that all requests share.
#[derive(Clone)]
struct Shared {
    db: Arc<Db>,
    values: Table,
}

type Answer = Result<Bytes, StatusCode>;

impl Shared {
    /// Runs work of the database on a thread that may wait. What goes wrong there is the server's.
    async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce(&Db, Table) -> frostline::Result<T> + Send + 'static,
    ) -> Result<T, StatusCode> {
        let done = spawn_blocking(move || work(&self.db, self.values)).await;
        done.ok().and_then(Result::ok).ok_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

async fn put(State(shared): State<Shared>, Path(key): Path<String>, value: Bytes) -> Answer {
    shared.run(move |db, values| db.update(|tx| tx.put(values, &key, &value))).await?;
    Ok(Bytes::new())
}

async fn look_up(State(shared): State<Shared>, Path(key): Path<String>) -> Answer {
    let found = shared.run(move |db, values| db.read()?.get(values, &key)).await?;
    found.map(|value| Bytes::copy_from_slice(&value)).ok_or(StatusCode::NOT_FOUND)
}

async fn delete(State(shared): State<Shared>, Path(key): Path<String>) -> Answer {
    shared.run(move |db, values| db.update(|tx| tx.delete(values, &key))).await?;
    Ok(Bytes::new())
}

#[tokio::main]
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
