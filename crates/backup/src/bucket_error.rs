//! Errors of requests to a bucket, in a line.

use std::error::Error as _;
use std::io::{self, ErrorKind};

use object_store::Error;

/// The error with its kind and its cause, without what libraries on the way wrote around it.
pub(crate) fn plain(error: Error) -> io::Error {
    let text = error.to_string();
    let code = between(&text, "<Code>", "</Code>");
    let kind = match (&error, code) {
        (_, Some("NoSuchBucket")) => ErrorKind::Other,
        (Error::NotFound { .. }, _) => ErrorKind::NotFound,
        (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _) => {
            ErrorKind::PermissionDenied
        }
        _ => ErrorKind::Other,
    };
    let why = match (code, between(&text, "<Message>", "</Message>")) {
        (Some(code), Some(message)) if !message.is_empty() => format!("{code}: {message}"),
        (Some(code), _) => code.to_string(),
        (None, _) => root(&error),
    };
    io::Error::new(kind, why.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The text of the innermost error.
fn root(error: &Error) -> String {
    let mut inner = error.source();
    while let Some(source) = inner.and_then(|error| error.source()) {
        inner = Some(source);
    }
    inner.map_or_else(|| error.to_string(), ToString::to_string)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_once(after).map(|(between, _)| between)
}
