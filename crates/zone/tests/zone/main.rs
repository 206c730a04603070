//! Devices, as their users see them. What needs a process of its own is a test of its own.

mod crashes;
mod devices;
mod faults;
mod overlay;
