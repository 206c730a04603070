//! Time in 64 bits, for schemes that divide by intervals or add times up.

use crate::Semantics;

/// User writes since the start, without wrapping; or the trace's microseconds, where the
/// semantics read those.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    writes: u64,
    traced: bool,
}

impl Clock {
    /// A clock at 0.
    pub fn new(semantics: Semantics) -> Self {
        Clock { writes: 0, traced: semantics == Semantics::SepbitFast22 }
    }

    /// The logical time, given its low half. Must be asked at least once in 2^32 user writes.
    #[inline(always)]
    pub fn writes(&mut self, now: u32) -> u64 {
        self.writes += u64::from(now.wrapping_sub(self.writes as u32));
        self.writes
    }

    /// The time of an event, given both of its times.
    #[inline(always)]
    pub fn read(&mut self, now: u32, clock: u64) -> u64 {
        let writes = self.writes(now);
        if self.traced { clock } else { writes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logical_time_does_not_wrap_and_the_trace_is_read_only_where_asked() {
        let mut clock = Clock::new(Semantics::Published);
        assert_eq!(clock.read(u32::MAX, 7), u64::from(u32::MAX));
        assert_eq!(clock.read(1, 8), (1 << 32) + 1);
        assert_eq!(clock.writes(1), (1 << 32) + 1);
        assert_eq!(Clock::new(Semantics::SepbitFast22).read(5, 123_456), 123_456);
    }
}
