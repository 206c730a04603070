//! Time in 64 bits, for schemes that divide by intervals or add times up.

use crate::fast22::Fast22;

/// User writes since the start, without wrapping; or the trace's microseconds, once the trace has
/// them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    writes: u64,
    traced: Option<u64>,
}

impl Clock {
    /// The logical time in 64 bits, given its low half. Must be called at least once in 2^32 user
    /// writes.
    #[inline(always)]
    pub fn writes(&mut self, now: u32) -> u64 {
        self.writes += u64::from(now.wrapping_sub(self.writes as u32));
        self.writes
    }

    /// The time of an event, given its logical time.
    #[inline(always)]
    pub fn read(&mut self, now: u32) -> u64 {
        let writes = self.writes(now);
        self.traced.unwrap_or(writes)
    }
}

impl Fast22 for Clock {
    fn at(&mut self, micros: u64) {
        self.traced = Some(micros);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logical_time_does_not_wrap_and_the_trace_is_read_where_it_is_told() {
        let mut clock = Clock::default();
        assert_eq!(clock.read(u32::MAX), u64::from(u32::MAX));
        assert_eq!(clock.read(1), (1 << 32) + 1);
        clock.at(123_456);
        assert_eq!((clock.read(1), clock.writes(2)), (123_456, (1 << 32) + 2));
    }
}
