//! A store as a network block device, through a client.

mod block_device;
mod client;
mod protocol;
