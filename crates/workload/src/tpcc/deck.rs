//! The choice of the next transaction (clause 5.2.4.2): from a deck of cards that is dealt out and
//! shuffled again.

use crate::random::Random;

/// A kind of transaction; the numbers are indices into [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
    /// Deletes old rows. It is not in the standard, nor in the deck: see the module `trim`.
    Trim,
}

/// The names of the kinds.
pub(super) const KINDS: [&str; 6] =
    ["new-order", "payment", "order-status", "delivery", "stock-level", "trim"];

/// The number of cards of each kind, of a hundred. For all kinds but the first it is the least that
/// clause
/// 5.2.3 requires.
const CARDS: [(TransactionKind, usize); 5] = [
    (TransactionKind::NewOrder, 45),
    (TransactionKind::Payment, 43),
    (TransactionKind::OrderStatus, 4),
    (TransactionKind::Delivery, 4),
    (TransactionKind::StockLevel, 4),
];

const _: () = {
    let (mut cards, mut kind) = (0, 0);
    while kind < CARDS.len() {
        assert!(CARDS[kind].0 as usize == kind, "kinds are in the order of their numbers");
        cards += CARDS[kind].1;
        kind += 1;
    }
    assert!(cards == 100, "the deck is whole");
    assert!(TransactionKind::Trim as usize + 1 == KINDS.len(), "each kind has a name");
};

/// A worker's deck.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    cards: [TransactionKind; 100],
    dealt: usize,
}

impl Deck {
    /// A deck that is shuffled before its first card.
    pub(super) fn new() -> Deck {
        let mut all = CARDS.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        let cards = std::array::from_fn(|_| all.next().unwrap_or(TransactionKind::NewOrder));
        Deck { cards, dealt: cards.len() }
    }

    /// The next card.
    pub(super) fn deal(&mut self, random: &mut Random) -> TransactionKind {
        if self.dealt == self.cards.len() {
            random.shuffle(&mut self.cards);
            self.dealt = 0;
        }
        self.dealt += 1;
        self.cards[self.dealt - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hundred_cards_are_the_mix() {
        assert_eq!(CARDS.iter().map(|(_, count)| count).sum::<usize>(), 100);
        let (mut deck, mut random) = (Deck::new(), Random::stream(1, 0));
        let mut orders = Vec::new();
        for _ in 0..3 {
            let hand: Vec<TransactionKind> = (0..100).map(|_| deck.deal(&mut random)).collect();
            for (kind, count) in CARDS {
                assert_eq!(hand.iter().filter(|card| **card == kind).count(), count);
            }
            orders.push(hand);
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2]);
    }
}
