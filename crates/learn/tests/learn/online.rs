//! A recogniser that learns while it runs, driven like a scheme drives it.

use frostline_learn::{Online, RecordSource};
use frostline_placement::{Activity, Candidates, Hotness, Past, Recogniser, Requests};
use frostline_random::SplitMix;
use proptest::prelude::*;

const PAGES: u32 = 4000;
/// Pages of a victim.
const BATCH: u32 = 64;

/// A volume in which one page in eight is written all the time, and the others never again.
struct World {
    online: Online,
    chance: SplitMix,
    pasts: Vec<Past>,
    followed: Vec<bool>,
    now: u32,
    /// The modifications in the engine's records: of pages that stay, and of the others.
    told: [u16; 2],
}

fn online() -> Online {
    Online::new(RecordSource::Engine, 5).unwrap()
}

fn stays(lba: u32) -> bool {
    !lba.is_multiple_of(8)
}

impl World {
    fn new() -> Self {
        let mut pasts = vec![Past::default(); PAGES as usize];
        pasts.iter_mut().for_each(|past| past.write(1, &Requests::default()));
        World {
            online: online(),
            chance: SplitMix::new(3),
            pasts,
            followed: vec![false; PAGES as usize],
            now: 1,
            told: [2, 9],
        }
    }

    fn hotness(&self, lba: u32) -> Hotness {
        let modifications = self.told[usize::from(!stays(lba))];
        let current = Activity { modifications, ..Activity::default() };
        Hotness { current, ..Hotness::default() }
    }

    fn write(&mut self) {
        self.now += 1;
        let lba = self.chance.below(PAGES / 8) * 8;
        self.pasts[lba as usize].write(self.now, &Requests::default());
        if std::mem::take(&mut self.followed[lba as usize]) {
            self.online.ended(lba, true);
        }
    }

    /// Cleans a victim; returns which of its pages are taken for frozen, if the recogniser is
    /// trusted.
    fn clean(&mut self) -> Vec<(u32, bool)> {
        let lbas: Vec<u32> = (0..BATCH).map(|_| self.chance.below(PAGES)).collect();
        let pasts: Vec<Past> = lbas.iter().map(|&lba| self.pasts[lba as usize]).collect();
        let hotness: Vec<Hotness> = lbas.iter().map(|&lba| self.hotness(lba)).collect();
        let (now, valid) = (self.now, PAGES);
        let pages = Candidates { now, valid, lbas: &lbas, pasts: &pasts, hotness: Some(&hotness) };
        let mut scores = vec![0.0; lbas.len()];
        self.online.score(&pages, &mut scores);
        let taken: Vec<bool> = scores.iter().map(|&score| score > 0.0).collect();
        let mut follow = vec![false; lbas.len()];
        self.online.follow(&pages, &taken, &mut follow);
        for (&lba, _) in lbas.iter().zip(&follow).filter(|(_, follow)| **follow) {
            self.followed[lba as usize] = true;
        }
        let trusted = self.online.is_trusted();
        lbas.into_iter().zip(taken).map(|(lba, taken)| (lba, taken && trusted)).collect()
    }

    /// Runs the volume for `horizons` horizons.
    fn live(&mut self, horizons: u32) -> Vec<(u32, bool)> {
        let mut last = Vec::new();
        for i in 0..horizons * PAGES {
            self.write();
            if i % 100 == 0 {
                last = self.clean();
            }
        }
        last
    }

    fn gauge(&self, name: &str) -> f64 {
        self.online.gauges().iter().find(|(known, _)| *known == name).unwrap().1
    }
}

#[test]
fn what_engines_tell_of_frozen_pages_is_learned_within_two_horizons() {
    let mut world = World::new();
    assert!(world.clean().iter().all(|(_, taken)| !taken), "nothing is known yet");
    let last = world.live(3);
    assert!(last.iter().all(|&(lba, taken)| taken == stays(lba)));
    assert!(world.gauge("precision") > 0.95 && world.gauge("recall") > 0.95);
}

#[test]
fn while_a_change_makes_the_model_wrong_it_is_not_followed_and_then_it_is_right_again() {
    let mut world = World::new();
    world.live(4);
    assert!(world.online.is_trusted());
    // The sign of frozen pages becomes the sign of the others.
    world.told.reverse();
    let mut distrusted = false;
    for _ in 0..4 {
        world.live(1);
        distrusted |= !world.online.is_trusted();
    }
    assert!(distrusted);
    let last = world.live(3);
    assert!(last.iter().all(|&(lba, taken)| taken == stays(lba)));
}

#[test]
fn what_was_learned_survives_a_restart() {
    let mut world = World::new();
    world.live(4);
    let mut again = online();
    again.recall(&world.online.memory());
    assert_eq!(again.memory(), world.online.memory());
    world.online = again;
    assert!(world.online.is_trusted());
    assert!(world.clean().iter().all(|&(lba, taken)| taken == stays(lba)));
    let mut other = Online::new(RecordSource::Block, 5).unwrap();
    other.recall(&world.online.memory());
    assert!(other.memory().is_empty(), "it goes by other features");
}

#[test]
fn the_same_pages_in_the_same_order_teach_the_same() {
    let learned = || {
        let mut world = World::new();
        world.live(3);
        world.online.memory()
    };
    assert_eq!(learned(), learned());
    assert!(!learned().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_damaged_memory_is_none_or_one_of_numbers(mut bytes in any::<Vec<u8>>(), at in 0..88usize) {
        let mut online = online();
        online.recall(&bytes);
        prop_assert!(online.memory().is_empty());
        let mut world = World::new();
        world.live(3);
        let sound = world.online.memory();
        bytes.truncate(sound.len());
        let mut damaged = sound.clone();
        let from = at.min(damaged.len() - bytes.len());
        damaged[from..from + bytes.len()].copy_from_slice(&bytes);
        world.online = Online::new(RecordSource::Engine, 5).unwrap();
        world.online.recall(&damaged);
        // Whatever it recalled, it works, and learns better.
        let last = world.live(4);
        prop_assert!(last.iter().all(|&(lba, taken)| taken == stays(lba)));
    }
}
