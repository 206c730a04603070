//! DOGI's six inputs: all that a block layer knows of a page when it is written.
//!
//! Our readings: an interval is estimated in zones; a recency bit stands for an eighth of a
//! capacity; the write count of a chunk of 2 MiB is halved after each capacity of user writes.

use crate::{FORECAST_CLASSES, ForecastInputs, PageState, UserWrite};

/// Recency bits, each for one part of a capacity.
const PARTS: u32 = 8;
/// Bytes of a chunk of LBAs.
const CHUNK_BYTES: u32 = 2 << 20;

/// Bit of [`Habit::marks`]: the page was written after the first capacity of user writes.
const WRITTEN: u8 = 1 << 4;
/// Bit of [`Habit::marks`]: the page's version is a sample whose end is awaited.
const AWAITED: u8 = 1 << 5;
/// Bits of [`Habit::marks`]: the forecast class plus one; 0 if there is no forecast to follow.
const FORECAST: u8 = 15;
const _: () = {
    assert!(PARTS == u8::BITS, "each part has a bit");
    assert!(WRITTEN & AWAITED == 0 && FORECAST & (WRITTEN | AWAITED) == 0, "marks are apart");
    assert!(FORECAST_CLASSES < FORECAST as usize, "each class has a mark");
};

/// The state of a page in DOGI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Habit {
    /// The time that its version spent in zones that were cleaned since, in zones' worth of user
    /// writes.
    interval: u8,
    /// One bit for each of the last parts of a capacity, the present one in the top bit: set if the
    /// page was written in that part.
    recent: u8,
    /// The part in which the bits were last moved, modulo 256.
    part: u8,
    marks: u8,
}

impl PageState for Habit {}

impl Habit {
    /// The page was relocated out of a zone in which it lay for `zones` zones' worth of user
    /// writes.
    #[inline(always)]
    pub fn relocated(&mut self, zones: u32) {
        self.interval = lived(self.interval, zones);
    }

    /// The class that was forecast for the version. Given once: only its first relocation uses it.
    #[inline(always)]
    pub fn take_forecast(&mut self) -> Option<usize> {
        let forecast = self.marks & FORECAST;
        self.marks &= !FORECAST;
        (forecast > 0).then(|| usize::from(forecast) - 1)
    }

    /// Keeps the class that was forecast for the version.
    #[inline(always)]
    pub fn keep_forecast(&mut self, class: usize) {
        debug_assert!(class < FORECAST_CLASSES, "a forecast is one of the classes");
        self.marks = self.marks & !FORECAST | (class as u8 + 1).min(FORECAST);
    }

    /// True if the page was not written after the first capacity of user writes.
    #[inline(always)]
    pub fn is_frozen(self) -> bool {
        self.marks & WRITTEN == 0
    }

    /// Marks the version as a sample whose end is awaited.
    pub fn await_end(&mut self) {
        self.marks |= AWAITED;
    }

    /// True if the version that ends is an awaited sample; clears the mark.
    #[inline(always)]
    pub fn was_awaited(&mut self) -> bool {
        let awaited = self.marks & AWAITED != 0;
        self.marks &= !AWAITED;
        awaited
    }
}

#[inline(always)]
fn lived(interval: u8, zones: u32) -> u8 {
    (u32::from(interval) + zones).min(u32::from(u8::MAX)) as u8
}

/// The facts of a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    /// The inputs of a forecast.
    pub inputs: ForecastInputs,
    /// Estimated interval since the write before, in zones; 255 if it is longer, or if there was
    /// none.
    pub interval: u8,
}

/// Knowledge of pages beside their own state.
#[derive(Clone, Debug)]
pub(crate) struct AccessHistory {
    /// User writes of a part of a capacity.
    part_writes: u32,
    /// The time at which the next part begins; `None` before the first write.
    part_ends: Option<u32>,
    part: u8,
    /// Parts that are over; counted up to the end of the second capacity.
    over: u32,
    /// The LBA written last.
    previous: u32,
    chunk_shift: u32,
    chunks: Vec<u16>,
}

impl AccessHistory {
    /// The knowledge about a volume whose LBAs are below `space`, which is also its capacity.
    pub(crate) fn new(space: u32, page_bytes: u32) -> Self {
        let chunk_shift = (CHUNK_BYTES / page_bytes).max(1).ilog2();
        AccessHistory {
            part_writes: (space / PARTS).max(1),
            part_ends: None,
            part: 0,
            over: 0,
            previous: 0,
            chunk_shift,
            chunks: vec![0; (space >> chunk_shift) as usize + 1],
        }
    }

    /// The facts of a write, and brings the page's state up to date. The page's last copy lay in
    /// its zone for `zones` zones' worth of user writes.
    #[inline(always)]
    pub(crate) fn written(&mut self, write: &UserWrite, zones: u32, page: &mut Habit) -> Facts {
        if self.part_ends.is_none_or(|end| write.now.wrapping_sub(end) as i32 >= 0) {
            self.next_part(write.now);
        }
        let interval = if write.first { u8::MAX } else { lived(page.interval, zones) };
        let parts = u32::from(self.part.wrapping_sub(page.part)).min(PARTS);
        let recent = (u32::from(page.recent) >> parts) as u8;
        let (mut none, place) = (0, (write.lba >> self.chunk_shift) as usize);
        let chunk = self.chunks.get_mut(place).unwrap_or(&mut none);
        let inputs = [
            write.lba as f32,
            self.previous as f32,
            f32::from(interval),
            f32::from(recent),
            recent.count_ones() as f32,
            f32::from(*chunk),
        ];
        *chunk = chunk.saturating_add(1);
        self.previous = write.lba;
        let written = if self.is_past_first_capacity() { WRITTEN } else { 0 };
        let marks = page.marks & (WRITTEN | AWAITED) | written;
        *page = Habit { interval: 0, recent: recent | 1 << 7, part: self.part, marks };
        Facts { inputs, interval }
    }

    /// True once a capacity of user writes is over.
    #[inline(always)]
    pub(crate) fn is_past_first_capacity(&self) -> bool {
        self.over >= PARTS
    }

    /// True once two capacities are over: a page without `WRITTEN` was then not written for a
    /// capacity.
    #[inline(always)]
    pub(crate) fn knows_frozen(&self) -> bool {
        self.over == 2 * PARTS
    }

    /// User writes in a capacity.
    pub(crate) fn capacity(&self) -> u32 {
        self.part_writes.saturating_mul(PARTS)
    }

    #[cold]
    fn next_part(&mut self, now: u32) {
        let began = self.part_ends.replace(now.wrapping_add(self.part_writes)).is_some();
        self.part = self.part.wrapping_add(1);
        self.over = (self.over + u32::from(began)).min(2 * PARTS);
        if u32::from(self.part).is_multiple_of(PARTS) {
            self.chunks.iter_mut().for_each(|writes| *writes /= 2);
        }
    }

    /// Resumes after a restart of a store: two capacities count as written before.
    pub(crate) fn resume(&mut self) {
        self.over = 2 * PARTS;
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.chunks[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(habits: &mut AccessHistory, page: &mut Habit, now: u32, zones: u32) -> Facts {
        let write = UserWrite { first: *page == Habit::default(), ..UserWrite::first(600, now) };
        habits.written(&write, zones, page)
    }

    #[test]
    fn the_inputs_are_what_was_known_before_the_write() {
        let (mut habits, mut page) = (AccessHistory::new(8000, 4096), Habit::default());
        let first = write(&mut habits, &mut page, 1, 0);
        assert_eq!(first.inputs, [600.0, 0.0, 255.0, 0.0, 0.0, 0.0]);
        habits.written(&UserWrite::first(1000, 2), 0, &mut Habit::default());
        page.relocated(3);
        page.relocated(4);
        let again = write(&mut habits, &mut page, 900, 5);
        assert_eq!(again.inputs, [600.0, 1000.0, 12.0, 128.0, 1.0, 2.0]);
        let later = write(&mut habits, &mut page, 2100, 1);
        assert_eq!(later.inputs[2..5], [1.0, 64.0, 1.0], "the next part of 1,000 writes");
    }

    #[test]
    fn what_was_last_written_in_the_first_capacity_is_frozen() {
        let (mut habits, mut early, mut late) =
            (AccessHistory::new(800, 4096), Habit::default(), Habit::default());
        for now in (1..2000).step_by(100) {
            write(&mut habits, if now < 800 { &mut early } else { &mut late }, now, 0);
        }
        assert!(early.is_frozen() && !late.is_frozen());
    }

    #[test]
    fn an_interval_saturates() {
        let mut page = Habit::default();
        page.relocated(200);
        page.relocated(u32::MAX / 2);
        assert_eq!(page.interval, 255);
    }

    #[test]
    fn a_forecast_is_followed_once() {
        let mut page = Habit::default();
        page.keep_forecast(9);
        assert_eq!((page.take_forecast(), page.take_forecast()), (Some(9), None));
    }
}
