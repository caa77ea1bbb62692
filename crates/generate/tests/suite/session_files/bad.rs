//! Files that can't be used, each with the reason.

use super::forged::sign;
use super::{options, session, setup};
use crate::rig::Setup;
use inkstone_generate::{Error, MAX_EXTRA, SessionError};
use inkstone_tensor::ErrorKind;
use inkstone_tensor::ops::Window;

/// A file, and the place of its number of tokens.
fn file() -> (Vec<u8>, usize) {
    file_of(&setup())
}

fn file_of(setup: &Setup) -> (Vec<u8>, usize) {
    let bytes = session(&setup.generator(), 20).to_bytes(b"extra").unwrap();
    let number = bytes.windows(8).position(|word| word == 29u64.to_le_bytes()).unwrap();
    (bytes, number)
}

/// The error of a file, on a generator that works as before.
#[track_caller]
fn error_with(setup: &Setup, bytes: &[u8]) -> String {
    let generator = setup.generator();
    let error = generator.restore_bytes(bytes).expect_err("an error");
    let pages = generator.pages();
    assert_eq!(pages.0, pages.1);
    generator.generate_ids(&[3, 4], &options(1)).unwrap();
    if let Error::Session(SessionError::Unusable { .. }) = error {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    error.to_string()
}

#[track_caller]
fn error(bytes: &[u8]) -> String {
    error_with(&setup(), bytes)
}

/// The error of the file after a change and with a valid checksum.
#[track_caller]
fn error_after(change: impl FnOnce(&mut Vec<u8>, usize)) -> String {
    let (mut bytes, number) = file();
    change(&mut bytes, number);
    sign(&mut bytes);
    error(&bytes)
}

fn replace(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

#[test]
fn the_checksum_is_as_described() {
    let (bytes, _) = file();
    let mut signed = bytes.clone();
    sign(&mut signed);
    assert_eq!(signed, bytes);
}

#[test]
fn g5_each_length_of_a_cut_file_is_refused() {
    cut(&setup());
}

#[test]
fn g5_each_length_of_a_cut_file_with_windows_is_refused() {
    cut(&windows(9, 3));
}

/// With a window that is shorter than the text of a file.
fn windows(size: usize, first: usize) -> Setup {
    Setup { window: Some(Window { size, first }), ..setup() }
}

fn cut(setup: &Setup) {
    let (bytes, _) = file_of(setup);
    let generator = setup.generator();
    for len in 0..bytes.len() {
        let error = generator.restore_bytes(&bytes[..len]).expect_err("an error").to_string();
        let of = if len < 8 { "the bytes of a session: length is " } else { "the bytes of a session: checksum is " };
        assert!(error.starts_with(of), "{len}: {error}");
    }
    assert_eq!(error_with(setup, &bytes[..3]), "the bytes of a session: length is 3 bytes, expected at least 8");
    // Also with a checksum that is valid.
    for len in 0..bytes.len() - 8 {
        let mut bytes = bytes[..len + 8].to_vec();
        sign(&mut bytes);
        assert!(generator.restore_bytes(&bytes).is_err(), "{len}");
    }
}

#[test]
fn g5_each_flipped_bit_is_found_by_the_checksum() {
    let (mut bytes, _) = file();
    let generator = setup().generator();
    for at in 0..bytes.len() {
        let bit = 1 << (at % 8);
        bytes[at] ^= bit;
        let error = generator.restore_bytes(&bytes).expect_err("an error").to_string();
        assert!(error.starts_with("the bytes of a session: checksum is "), "byte {at}: {error}");
        assert!(error.ends_with("the file is cut short or changed, or it is no session file"), "{error}");
        bytes[at] ^= bit;
    }
}

#[test]
fn g5_another_kind_of_file_is_named() {
    let error = error_after(|bytes, _| bytes[..8].copy_from_slice(b"GGUF\0\0\0\0"));
    let wanted = r#"first field is "GGUF\x00\x00\x00\x00", expected "INKSTATE""#;
    assert_eq!(error, format!("the bytes of a session: {wanted}"));
}

#[test]
fn g5_another_version_is_named() {
    let error = error_after(|bytes, _| bytes[8] = 2);
    assert_eq!(error, "the bytes of a session: version is 2, expected 1");
}

#[test]
fn g5_another_model_is_named() {
    let (bytes, _) = file();
    for attention in [Some(2), None] {
        let other = error_with(&Setup { attention, ..setup() }, &bytes);
        assert!(other.starts_with("the bytes of a session: hash of the model is "), "{other}");
        assert!(other.ends_with("; the file is of another model or window"), "{other}");
    }
    for (saved, opened) in [(windows(9, 3), windows(9, 2)), (windows(8, 3), windows(9, 3)), (windows(9, 3), setup())] {
        let other = error_with(&opened, &file_of(&saved).0);
        assert!(other.ends_with("; the file is of another model or window"), "{other}");
    }
    let mut other = setup();
    other.kv.values = inkstone_tensor::DType::F32;
    let wanted = "format of keys and values is F16 and F16, expected F16 and F32";
    assert_eq!(error_with(&other, &bytes), format!("the bytes of a session: {wanted}"));
    let other = error_after(|bytes, _| bytes[16] ^= 1);
    assert!(other.starts_with("the bytes of a session: engine is "), "{other}");
    let hashes = [
        (1, "hash of the arithmetic", "the rows were computed with another accuracy"),
        (9, "hash of the model", "the file is of another model or window"),
        (17, "hash of the states", "the caches are laid out in another way"),
    ];
    for (before, field, why) in hashes {
        let other = error_after(|bytes, number| bytes[number - before] ^= 1);
        assert!(other.starts_with(&format!("the bytes of a session: {field} is ")) && other.ends_with(why), "{other}");
    }
}

#[test]
fn g5_a_text_longer_than_the_file_is_refused() {
    let error = error_after(|bytes, _| bytes[12..16].fill(255));
    assert!(error.starts_with("the bytes of a session: engine is 4294967295 bytes, expected at most "), "{error}");
}

#[test]
fn g5_a_count_of_a_trillion_tokens_is_refused() {
    let tokens = |count: u64| error_after(|bytes, number| replace(bytes, number, count));
    for count in [1 << 40, u64::MAX, 1 << 62] {
        let error = tokens(count);
        let wanted = format!("the bytes of a session: number of tokens is {count}, expected at most ");
        assert!(error.starts_with(&wanted), "{error}");
    }
    let extra = |count: u64| error_after(|bytes, number| replace(bytes, number + 8 + 29 * 4, count));
    let error = extra(1 << 40);
    let wanted = "the bytes of a session: number of the caller's bytes is 1099511627776, expected at most ";
    assert!(error.starts_with(wanted), "{error}");
    let rows = |count: u64| error_after(|bytes, number| replace(bytes, number + 8 + 29 * 4 + 8 + 5, count));
    assert_eq!(
        rows(1 << 40),
        "the bytes of a session: number of tokens with rows is 1099511627776, expected at most 29, the number of tokens"
    );
    // A row of keys and one of values.
    let token = 2 * 16 * 2;
    let wanted = format!("{}, expected {} for 27 tokens", token * 28, token * 27);
    assert_eq!(rows(27), format!("the bytes of a session: number of bytes of the rows is {wanted}"));
}

#[test]
fn g5_bytes_behind_the_end_are_refused() {
    let (mut bytes, _) = file();
    bytes.push(0);
    assert!(error(&bytes).starts_with("the bytes of a session: checksum is "));
    let error = error_after(|bytes, _| bytes.insert(bytes.len() - 8, 0));
    let wanted = "number of bytes of the rows is 1793, expected 1792 for 28 tokens";
    assert_eq!(error, format!("the bytes of a session: {wanted}"));
}

#[test]
fn g5_tokens_outside_the_vocabulary_are_refused() {
    let error = error_after(|bytes, number| bytes[number + 8..][..4].fill(255));
    assert_eq!(error, "the bytes of a session: token is 4294967295 at place 0, expected below 16, the vocabulary");
}

#[test]
fn g5_a_text_longer_than_the_context_is_refused() {
    let (bytes, _) = file();
    let error = error_with(&Setup { context: 28, ..setup() }, &bytes);
    assert_eq!(error, "the bytes of a session: number of tokens is 29, expected at most 28, the context");
}

#[test]
fn g5_more_bytes_of_the_caller_than_allowed_are_not_saved() {
    let session = setup().generator().session();
    let error = session.to_bytes(&vec![0; MAX_EXTRA + 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert_eq!(error.to_string(), "16777217 bytes to save with a session, allowed: at most 16777216");
}
