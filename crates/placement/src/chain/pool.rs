//! The pool: zones among which a victim policy chooses, while other zones are cleaned by age or
//! number.

use crate::{Choice, VictimPolicy, ZoneView};

/// A view of the zones in which zones outside the pool can't be victims. Its memory is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    /// Garbage of each zone in the pool; negative for zones outside.
    garbage: Vec<i32>,
}

impl Pool {
    /// The policy's choice among the zones of the classes from `first` on, with the class changes
    /// of `choice` already made.
    pub(crate) fn pick(
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
        let victim = policy.pick(&zones.with_garbage(&self.garbage));
        debug_assert!(
            victim.is_none_or(|zone| self.garbage[zone as usize] > 0),
            "a victim of the pool lies in it"
        );
        victim
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.garbage.capacity() * size_of::<i32>()
    }
}
