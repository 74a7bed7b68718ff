//! Repeatable random choices: the same seed gives the same choices.

/// SplitMix64: small, fast, and random enough to choose the next step.
#[derive(Clone)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `end`, exclusive.
    pub fn below(&mut self, end: u64) -> u64 {
        self.any() % end.max(1)
    }

    /// The id of one of the things up to `last`; 1 before the first exists.
    pub fn id<Id: From<u64> + Into<u64>>(&mut self, last: Id) -> Id {
        Id::from(1 + self.below(last.into()))
    }

    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("below a length")
    }

    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.index(all.len())].clone()) }
    }

    /// One of the values, chosen by weight.
    pub fn weighed<T: Copy>(&mut self, all: &[(u64, T)]) -> T {
        let mut at = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, what) in all {
            if at < *weight {
                return *what;
            }
            at -= weight;
        }
        unreachable!("the weights were added up")
    }
}
