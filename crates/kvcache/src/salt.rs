//! Salts: which prompts may share pages.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of a value that say how it was made. Without them: [`Salt::none`].
const NAMED: u128 = 1 << 126;
const PRIVATE: u128 = 1 << 127;

/// A sequence finds the pages of prompts with its own salt only, so that no one learns from the time of a first token
/// which prompts others have sent. The value is opaque.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Salt(u128);

impl Salt {
    /// The salt of all sequences that have no other one.
    pub fn none() -> Salt {
        Salt(0)
    }
}

/// Makes salts, with random keys of its own: nobody can choose a name whose salt equals the salt of another name.
///
/// ```
/// use inkstone_kvcache::{Salt, Salts};
///
/// let salts = Salts::default();
/// assert_eq!(salts.named("tenant 1"), salts.named("tenant 1"));
/// assert_ne!(salts.named("tenant 1"), salts.named("tenant 2"));
/// assert_ne!(salts.private(), salts.private());
/// assert_ne!(salts.named(""), Salt::none());
/// ```
#[derive(Debug, Default)]
pub struct Salts {
    /// SipHash with two keys, for 64 bits each.
    keys: [RandomState; 2],
}

impl Salts {
    /// The salt of a name, for example of a user or of an organisation.
    pub fn named(&self, name: &str) -> Salt {
        let [high, low] = self.keys.each_ref().map(|key| u128::from(key.hash_one(name)));
        Salt((high << 64 | low) & !PRIVATE | NAMED)
    }

    /// A salt that differs from all others of the process.
    pub fn private(&self) -> Salt {
        // The counter belongs to the process, because a tree may get salts from several values of this type.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Salt(PRIVATE | u128::from(NEXT.fetch_add(1, Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_of_salt_equals_another() {
        let salts = Salts::default();
        let named: Vec<Salt> = (0..1000).map(|i| salts.named(&i.to_string())).collect();
        let private: Vec<Salt> = (0..1000).map(|_| salts.private()).collect();
        let mut all: Vec<Salt> = named.iter().chain(&private).copied().chain([Salt::none()]).collect();
        assert!(named.iter().all(|s| s.0 & (NAMED | PRIVATE) == NAMED));
        assert!(private.iter().all(|s| s.0 & (NAMED | PRIVATE) == PRIVATE));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2001);
    }

    #[test]
    fn a_name_has_other_salts_with_other_keys() {
        let (one, two) = (Salts::default(), Salts::default());
        assert_ne!(one.named("tenant"), two.named("tenant"));
        assert_ne!(one.private(), two.private());
        // Both halves depend on the keys and on the name.
        let [a, b] = ["a", "b"].map(|name| one.named(name).0);
        assert!(a >> 64 != b >> 64 && a as u64 != b as u64 && a >> 64 != u128::from(a as u64));
    }
}
