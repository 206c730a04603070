//! Answers to requests.

use std::fmt::Display;

use crate::Watched;
use crate::names::Names;
use crate::request::HttpRequest;

/// The page: one file that asks for `/zones` and draws what it gets.
const PAGE: &str = include_str!("page.html");

/// All that the page may do: run what stands in it, and ask this server.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      connect-src 'self'; img-src data:";

const TEXT: &str = "text/plain; charset=utf-8";

/// An answer.
struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

/// The answer to a request, as it is sent.
pub(crate) fn to(request: &HttpRequest, names: &Names, watched: &dyn Watched) -> String {
    let unknown = request.hosts.iter().find(|host| !names.have(host));
    let Answer { status, kind, body } = match unknown {
        Some(host) => misdirected(host),
        None => answer(request, watched),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn answer(request: &HttpRequest, watched: &dyn Watched) -> Answer {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") => found("text/html; charset=utf-8", Ok::<_, String>(PAGE.to_string())),
        ("GET", "/metrics") => found("text/plain; version=0.0.4; charset=utf-8", watched.metrics()),
        ("GET", "/zones") => found("application/json", zones(watched)),
        ("GET", _) => {
            let body = "/, /metrics and /zones are here\n".to_string();
            Answer { status: "404 Not Found", kind: TEXT, body }
        }
        _ => {
            Answer { status: "405 Method Not Allowed", kind: TEXT, body: "only GET\n".to_string() }
        }
    }
}

fn misdirected(host: &str) -> Answer {
    let body = format!(
        "{}: not a name of this server, which is asked by its address in digits\n",
        host.escape_default()
    );
    Answer { status: "421 Misdirected Request", kind: TEXT, body }
}

fn zones(watched: &dyn Watched) -> Result<String, String> {
    let view = watched.view().map_err(|error| error.to_string())?;
    serde_json::to_string(&view).map_err(|error| error.to_string())
}

fn found(kind: &'static str, body: Result<String, impl Display>) -> Answer {
    match body {
        Ok(body) => Answer { status: "200 OK", kind, body },
        Err(error) => {
            let body = format!("{error}\n");
            Answer { status: "500 Internal Server Error", kind: TEXT, body }
        }
    }
}
