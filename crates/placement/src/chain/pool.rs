//! The zones of which a victim policy chooses, while others have their turn by age or number.

use crate::{Choice, VictimPolicy, ZoneView};

/// A view of the zones in which those of some classes can't be victims; its memory is used again.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    /// Garbage of the zones in the pool.
    garbage: Vec<i32>,
}

impl Pool {
    /// The policy's choice among the zones of the classes from `first` on, as they are once `choice` is
    /// followed.
    pub fn pick(
        &mut self,
        first: usize,
        zones: &ZoneView<'_>,
        policy: &mut dyn VictimPolicy,
        choice: &Choice,
    ) -> Option<u32> {
        if first == 0 {
            return policy.pick(zones);
        }
        let columns = zones.columns;
        let of_pool =
            |class: u8, garbage: i32| if usize::from(class) < first { -1 } else { garbage };
        self.garbage.clear();
        let classes = columns.class.iter().zip(columns.garbage);
        self.garbage.extend(classes.map(|(&class, &garbage)| of_pool(class, garbage)));
        for &(zone, class) in &choice.relabelled {
            self.garbage[zone as usize] = of_pool(class, columns.garbage[zone as usize]);
        }
        policy.pick(&zones.with_garbage(&self.garbage))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.garbage.capacity() * size_of::<i32>()
    }
}
