//! A file with a valid checksum and wrong rows reaches no other request, and leaves no pages.

use super::{bits, cold, options, session, setup};
use crate::rig::Setup;

/// Writes the checksum of a file anew, by the description of the format.
pub fn sign(bytes: &mut Vec<u8>) {
    bytes.truncate(bytes.len() - 8);
    let step = |hash: u64, word: u64| {
        let hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        hash ^ hash >> 32
    };
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut words = bytes.clone();
    // A last word that may be empty.
    words.resize((bytes.len() / 8 + 1) * 8, 0);
    for word in words.chunks_exact(8) {
        hash = step(hash, u64::from_le_bytes(word.try_into().unwrap()));
    }
    let sum = step(hash, bytes.len() as u64);
    bytes.extend(sum.to_le_bytes());
}

/// A file whose keys and values are zeros.
fn forged(bytes: &[u8], tokens: usize) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    let end = forged.len() - 8;
    // A row of keys and one of values, f16.
    let rows = tokens * 2 * 16 * 2;
    forged[end - rows..end].fill(0);
    sign(&mut forged);
    forged
}

#[test]
fn a_forged_file_reaches_no_other_request() {
    for page in [1, 4, 32] {
        let setup = Setup { page, ..setup() };
        let generator = setup.generator();
        let first = session(&generator, 20);
        let bytes = first.to_bytes(b"").unwrap();
        let wanted = cold(&setup, &first, 2);

        let other = setup.generator();
        let (mut forged, _) = other.restore_bytes(&forged(&bytes, 28)).unwrap();
        let wrong = forged.generate(&options(2)).unwrap();
        assert_eq!(wrong.usage.cached_tokens, 28);
        assert_ne!(bits(&wrong), wanted, "the rows are used");
        // Requests, sessions and restored sessions with the same text.
        let reply = other.generate_ids(first.ids(), &options(2)).unwrap();
        assert_eq!((bits(&reply), reply.usage.cached_tokens), (wanted.clone(), 0));
        let mut same = other.session();
        same.append_ids(first.ids()).unwrap();
        assert_eq!(bits(&same.generate(&options(2)).unwrap()), wanted);
        let (mut sound, _) = other.restore_bytes(&bytes).unwrap();
        assert_eq!(bits(&sound.generate(&options(2)).unwrap()), wanted);
        // A fork stays with the wrong rows.
        forged.truncate(first.ids().len());
        let mut fork = forged.fork();
        drop(forged);
        assert_eq!(bits(&fork.generate(&options(2)).unwrap()), bits(&wrong));
    }
}

#[test]
fn the_pages_of_a_dropped_session_are_free() {
    let generator = setup().generator();
    let bytes = session(&generator, 20).to_bytes(b"").unwrap();
    // One slot for one text: without free pages, what is there before must go.
    let other = Setup { sequences: 1, cache: 120, ..setup() }.generator();
    let kept = session(&other, 40);
    for _ in 0..20 {
        let (restored, _) = other.restore_bytes(&bytes).unwrap();
        let mut fork = restored.fork();
        drop(restored);
        // A stream that is dropped leaves pages when it ends.
        assert_eq!(fork.stream(&options(3)).unwrap().take(2).count(), 2);
    }
    let mut again = other.session();
    again.append_ids(kept.ids()).unwrap();
    assert_eq!(again.generate(&options(4)).unwrap().usage.cached_tokens, 48, "nothing was evicted");
}
