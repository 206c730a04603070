//! The batch of requests that readers fill.

use crate::cause::{Bounds, Cause};
use crate::request::Request;
use crate::volumes::Volumes;

/// A batch of requests that is being filled.
pub(crate) struct Sink<'a> {
    pub(crate) requests: &'a mut Vec<Request>,
    /// The number of requests at which the batch is full.
    pub(crate) full: usize,
    pub(crate) volumes: &'a mut Volumes,
    pub(crate) bounds: Bounds,
}

impl Sink<'_> {
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.requests.len() >= self.full
    }

    /// Adds a request if it is within bounds.
    pub(crate) fn push(&mut self, request: Request) -> Result<(), Cause> {
        self.bounds.check(&request)?;
        self.requests.push(request);
        Ok(())
    }
}
