//! A page store as a network block device (NBD).
//!
//! The protocol is the fixed newstyle one, with structured replies, block status
//! (`base:allocation`), flush, FUA, trim, write zeroes and several connections (the NBD project's
//! `doc/proto.md`). A store has one volume, so a server has one export, with the empty name.
//!
//! # Promises
//! * The reply to a flush is sent after [`Store::sync`](frostline_store::Store::sync) returned:
//!   every write, trim and zeroing whose reply was sent before the flush arrived, on any
//!   connection, survives a crash. The reply to a request with FUA is sent after a sync that
//!   follows the request.
//! * A page of 4,096 bytes is written whole or not at all. A request of several pages is not
//!   atomic.
//! * A part of a page is written by reading the page, changing it, and writing it whole. No other
//!   write
//!   of the page is lost in between.
//!
//! ```no_run
//! use frostline_nbd::{Address, Server};
//! # fn serve(store: frostline_store::Store) -> Result<(), Box<dyn std::error::Error>> {
//! let address: Address = "127.0.0.1:10809".parse()?;
//! let server = Server::bind(&address)?;
//! server.run(&store, false, &|| false)?;
//! # Ok(())
//! # }
//! ```

mod address;
mod budget;
mod connection;
mod negotiation;
mod reply;
mod request;
mod server;
mod session;
mod wire;

pub use address::{Address, NotAnAddress};
pub use server::{MOST_CONNECTIONS, ServeError, Server};
pub use session::IN_FLIGHT_BYTES;
pub use wire::LONGEST_REQUEST;
