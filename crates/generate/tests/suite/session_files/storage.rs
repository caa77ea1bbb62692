//! Files and folders: a save replaces a file as a whole or not at all.

use super::{bits, cold, options, session, setup};
use inkstone_generate::{Error, Session, SessionError};
use inkstone_tensor::ErrorKind;
use std::fs;
use std::path::Path;

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn a_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    let generator = setup().generator();
    let mut first = session(&generator, 10);
    first.save(&path, b"one").unwrap();
    first.generate(&options(2)).unwrap();
    first.save(&path, b"two").unwrap();
    assert_eq!(names(folder.path()), ["a.session"]);
    assert_eq!(fs::read(&path).unwrap(), first.to_bytes(b"two").unwrap());
    let (mut restored, extra) = setup().generator().restore(&path).unwrap();
    assert_eq!(extra, b"two");
    let reply = restored.generate(&options(3)).unwrap();
    assert_eq!((bits(&reply), reply.usage.cached_tokens), (cold(&setup(), &first, 3), 27));
}

#[test]
fn files_that_a_killed_process_left_are_not_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    for i in 0..100 {
        fs::write(folder.path().join(format!("a.session.{}-{i}.tmp", std::process::id())), "left").unwrap();
    }
    let generator = setup().generator();
    generator.session().save(&path, b"extra").unwrap();
    assert_eq!(generator.restore(&path).unwrap().1, b"extra");
    assert_eq!(names(folder.path()).len(), 101);
}

#[test]
fn g5_a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("a.session");
    let generator = setup().generator();
    let saved = session(&generator, 10).save(&path, b"").unwrap_err();
    assert!(
        saved.to_string().starts_with(&format!("{}: can't make a file in the folder: ", path.display())),
        "{saved}"
    );
    let restored = generator.restore(&path).unwrap_err();
    assert!(restored.to_string().starts_with(&format!("{}: can't open the file: ", path.display())), "{restored}");
    assert_eq!([saved.kind(), restored.kind()], [ErrorKind::NotFound; 2]);
    let checked = Session::check_path(&path).unwrap_err();
    assert_eq!(checked.to_string(), saved.to_string());
    let nothing = generator.session().save("/", b"").unwrap_err();
    assert_eq!(nothing.to_string(), "/: can't write to the path: it has no file name");
}

#[test]
fn g5_a_save_that_fails_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    // A folder can't be replaced by a file.
    let path = folder.path().join("a.session");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("old"), "old").unwrap();
    let generator = setup().generator();
    let error = session(&generator, 10).save(&path, b"").unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: can't replace the file: ", path.display())), "{error}");
    assert!(matches!(error, Error::Session(SessionError::Io { .. })));
    assert_eq!((names(folder.path()), names(&path)), (vec!["a.session".to_owned()], vec!["old".to_owned()]));
    let error = generator.restore(&path).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: kind is a folder, expected a file", path.display()));
}

#[test]
fn a_path_is_checked_before_there_is_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    Session::check_path(&path).unwrap();
    fs::write(&path, "old").unwrap();
    Session::check_path(&path).unwrap();
    assert_eq!((names(folder.path()), fs::read(&path).unwrap()), (vec!["a.session".to_owned()], b"old".to_vec()));
    let error = Session::check_path(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with(": kind is a folder, expected a file"), "{error}");
    let error = Session::check_path(path.join("b")).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: can't open the file: ", path.join("b").display())), "{error}");
    assert!(Session::check_path("").is_err());
}

#[cfg(unix)]
#[test]
fn g5_a_folder_without_write_permission_keeps_the_old_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    // The permission does not bind the superuser.
    if fs::write(folder.path().join("probe"), "").is_err() {
        let error = session(&setup().generator(), 10).save(&path, b"").unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: can't make a file in the folder: ", path.display())), "{error}");
        assert_eq!((names(folder.path()), fs::read(&path).unwrap()), (vec!["a.session".to_owned()], b"old".to_vec()));
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn g5_a_file_longer_than_any_session_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    // A terabyte without contents.
    if fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).is_ok() {
        let error = setup().generator().restore(&path).unwrap_err().to_string();
        let wanted = format!("{}: length is 1099511627776 bytes, expected at most ", path.display());
        assert!(error.starts_with(&wanted), "{error}");
        assert!(error.ends_with("; the text is too long for the context, or the file is of another model"), "{error}");
    }
}

#[test]
fn g5_a_damaged_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.session");
    let generator = setup().generator();
    session(&generator, 10).save(&path, b"").unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 4;
    fs::write(&path, bytes).unwrap();
    let error = generator.restore(&path).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: checksum is ", path.display())), "{error}");
}
