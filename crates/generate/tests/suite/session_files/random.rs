//! Random conversations that are saved and restored between their turns, while other requests run.

use super::{bits, cold, options, setup};
use crate::rig::{Rng, Setup};
use inkstone_generate::Session;

/// The setup of the next generator.
fn random_setup(rng: &mut Rng) -> Setup {
    let (page, sequences) = (rng.one_of(&[1, 4, 16]), rng.one_of(&[1, 2, 4]));
    Setup {
        page,
        sequences,
        cache: rng.one_of(&[0, 128, 200]),
        ahead: rng.below(4),
        prefix: !rng.once_in(8),
        ..setup()
    }
}

/// Appends or takes back some tokens, so that an answer fits.
fn edit(session: &mut Session, rng: &mut Rng) {
    if rng.once_in(3) || session.ids().len() > 90 {
        session.truncate(rng.below(session.ids().len() + 1));
    }
    session.append_ids(&(0..1 + rng.below(12)).map(|_| rng.below(13) as u32 + 3).collect::<Vec<_>>()).unwrap();
}

#[test]
fn random_conversations_have_the_same_bits() {
    for seed in 0..30 {
        let mut rng = Rng(seed);
        let mut generator = random_setup(&mut rng).generator();
        let mut session = generator.session();
        for turn in 0..6 {
            let context = format!("seed {seed}, turn {turn}");
            edit(&mut session, &mut rng);
            let mut other = generator.stream_ids(&session.ids()[..1], &options(rng.below(9) as u64)).unwrap();
            other.next().unwrap().unwrap();
            let wanted = cold(&setup(), &session, turn);
            assert_eq!(bits(&session.generate(&options(turn)).unwrap()), wanted, "{context}");
            if rng.once_in(2) {
                let bytes = session.to_bytes(context.as_bytes()).unwrap();
                if rng.once_in(2) {
                    generator = random_setup(&mut rng).generator();
                }
                let (restored, extra) = generator.restore_bytes(&bytes).unwrap();
                assert_eq!((restored.ids(), &extra[..]), (session.ids(), context.as_bytes()));
                session = if rng.once_in(2) { restored.fork() } else { restored };
            }
        }
    }
}
