//! How a scheme's name finds the code that was compiled for it.

use crate::scheme::Scheme;

/// What is done with a scheme whose type is known only by name: the log is compiled once for
/// each scheme, and this is how a name finds its copy.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Called with the scheme that was built.
    fn visit<S: Scheme>(self, scheme: S) -> Self::Output;
}
