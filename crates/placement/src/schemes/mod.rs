//! The schemes, one file each.

pub mod dac;
pub mod eti;
pub mod fadac;
pub mod fk;
pub mod fk_kmeans;
pub mod frozen;
pub mod gw;
pub mod lifespan;
pub mod mida;
pub mod multilog;
pub mod multiqueue;
pub mod nosep;
pub mod oracle_death;
pub mod oracle_rate;
pub mod oracle_rate_frozen;
pub mod sepbit;
pub mod sepgc;
pub mod sfr;
pub mod sfs;
pub mod two_r_fifo;
pub mod two_r_greedy;
pub mod uw;
pub mod warcip;
