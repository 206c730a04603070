//! A store or a database at work, over HTTP: metrics for Prometheus at `/metrics`, the zones and
//! what was written as JSON at `/zones` ([`StoreView`]), and at `/` a page that draws them as they
//! change.
//!
//! ```
//! use std::sync::Arc;
//! use frostline_store::{Format, Open, Store};
//! use frostline_zone::{Shape, in_memory};
//!
//! let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
//! Store::format(device.clone(), &Format::default())?;
//! let store = Arc::new(Store::open(device, Open::default())?);
//!
//! let watched = frostline_watch::Server::bind("127.0.0.1:0".parse()?)?.spawn(store.clone())?;
//! println!("http://{}/ draws the zones", watched.address());
//! store.write(7, &[1; 4096])?;
//!
//! let view = frostline_watch::fetch(watched.address())?;
//! assert_eq!(view.written.user, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Whoever reaches the address reads all of this, and nothing else: no page of the store, and
//! nothing can be changed. There is no password, so an address of this machine alone (`127.0.0.1`)
//! is the usual one. A request that asks for another host is refused, so that no page of another
//! site reads it in a browser: known are addresses in digits, `localhost` on an address of this
//! machine, and the names that [`Server::known_as`] gives.

mod answer;
mod client;
mod names;
mod request;
mod server;
mod watched;

pub use client::{FetchError, fetch};
pub use frostline_store::StoreView;
pub use server::{Server, Watching};
pub use watched::Watched;
