//! The way from a scheme's name to the code that was compiled for it.

use crate::scheme::Scheme;

/// Code that takes a scheme whose type is known only by name: the log is compiled once for
/// each scheme, and this is how a name finds its copy.
pub trait Visitor {
    /// Its result.
    type Output;
    /// Called with the scheme that was built.
    fn visit<S: Scheme>(self, scheme: S) -> Self::Output;
}
