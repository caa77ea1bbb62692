//! The lines typed in conversations, stored in a file of the user: one JSON string per line, the newest last.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// The largest number of lines in the file.
pub(super) const MAX_LINES: usize = 1000;
/// A longer line is not stored.
const MAX_LINE: usize = 64 << 10;
/// The largest number of bytes that are read, from the end of the file.
const MAX_BYTES: u64 = 4 << 20;

/// The number of attempts to lock a file, and the pause between them. Other programs hold the lock for milliseconds.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A file of lines that several programs may use at the same time.
pub(super) struct History {
    path: PathBuf,
}

impl History {
    /// The file in the state folder of the XDG Base Directory Specification; `None` without such a folder.
    pub(super) fn of_user() -> Option<History> {
        let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
        Some(History { path: state.join("inkstone/history") })
    }

    /// Its name, for messages.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The lines, the oldest first. Without a file there are no lines.
    pub(super) fn read(&self) -> io::Result<Vec<String>> {
        let mut file = match self.open(OpenOptions::new().read(true), File::try_lock_shared) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?,
        };
        let (text, _) = end_of(&mut file)?;
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice(line).ok()).filter(|line: &String| is_kept(line));
        let lines: Vec<String> = lines.collect();
        Ok(lines[lines.len().saturating_sub(MAX_LINES)..].to_vec())
    }

    /// Adds a line, and drops the oldest if there are too many.
    pub(super) fn add(&self, line: &str) -> io::Result<()> {
        if !is_kept(line) {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            private_folders().create(folder)?;
        }
        let mut file = self.open(private_file().read(true).write(true).create(true), File::try_lock)?;
        let (text, whole) = end_of(&mut file)?;
        let mut added = serde_json::to_vec(line)?;
        added.push(b'\n');
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        if whole && lines.len() < MAX_LINES && text.last().is_none_or(|byte| *byte == b'\n') {
            // One write at the end: if the program is killed here, earlier lines are not damaged.
            file.seek(SeekFrom::End(0))?;
            return file.write_all(&added);
        }
        let mut kept = lines[lines.len().saturating_sub(MAX_LINES - 1)..].join(&b'\n');
        kept.push(b'\n');
        kept.extend(added);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&kept)?;
        file.set_len(kept.len() as u64)
    }

    /// The file, locked until it is closed.
    fn open(&self, options: &mut OpenOptions, lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<File> {
        let file = plain(options).open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a plain file"));
        }
        keep_private(&file)?;
        for _ in 0..TRIES {
            match lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => sleep(PAUSE),
                Err(TryLockError::Error(e)) => return Err(e),
            }
        }
        Err(io::Error::other("another program does not release it"))
    }
}

/// Whether a line is stored. Lines with control characters, which could control the terminal, are not.
fn is_kept(line: &str) -> bool {
    line.len() <= MAX_LINE && !line.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// The last bytes of a file, starting at the beginning of a line, and whether they are the whole file.
fn end_of(file: &mut File) -> io::Result<(Vec<u8>, bool)> {
    let begin = file.metadata()?.len().saturating_sub(MAX_BYTES);
    file.seek(SeekFrom::Start(begin))?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    if begin > 0 {
        let line = text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| end + 1);
        text.drain(..line);
    }
    Ok((text, begin == 0))
}

/// Options that do not follow links and do not wait for the writer of a pipe.
#[cfg(unix)]
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
}

/// Options for a file that only its user can read.
#[cfg(unix)]
fn private_file() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Options for folders that only their user can open.
#[cfg(unix)]
fn private_folders() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
}

/// Removes the permissions of other users from a file that has them.
#[cfg(unix)]
fn keep_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let others = file.metadata()?.permissions().mode() & 0o077;
    if others == 0 { Ok(()) } else { file.set_permissions(std::fs::Permissions::from_mode(0o600)) }
}

#[cfg(not(unix))]
fn plain(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(not(unix))]
fn private_file() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(not(unix))]
fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    builder
}

#[cfg(not(unix))]
fn keep_private(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn at(folder: &Path) -> History {
        History { path: folder.join("state/inkstone/history") }
    }

    fn made(folder: &Path) -> History {
        let history = at(folder);
        history.add("first").unwrap();
        history
    }

    #[test]
    fn lines_are_kept_in_order_and_the_oldest_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let history = at(folder.path());
        assert_eq!(history.read().unwrap(), Vec::<String>::new());
        let lines: Vec<String> = (0..MAX_LINES + 5).map(|n| format!("line {n}\n\"日\" \\")).collect();
        for line in &lines {
            history.add(line).unwrap();
        }
        assert_eq!(history.read().unwrap(), lines[5..]);
        let text = std::fs::read_to_string(&history.path).unwrap();
        assert_eq!(text.lines().count(), MAX_LINES);
    }

    #[test]
    fn a_line_that_is_long_or_steers_the_terminal_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let history = made(folder.path());
        history.add(&"x".repeat(MAX_LINE + 1)).unwrap();
        history.add("a\u{1b}[2J").unwrap();
        let mut file = OpenOptions::new().append(true).open(&history.path).unwrap();
        // Another program may have left lines without JSON, without text, with control characters, or without an end.
        file.write_all(b"plain\n\xff\n[1]\n\"\\u001b[2J\"\n\"cut").unwrap();
        assert_eq!(history.read().unwrap(), ["first"]);
        history.add("last").unwrap();
        assert_eq!(history.read().unwrap(), ["first", "last"]);
    }

    #[test]
    fn the_end_of_a_large_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let history = made(folder.path());
        let line = format!("\"{}\"\n", "x".repeat(1 << 20));
        std::fs::write(&history.path, format!("\"lost\"\n{}\"kept\"\n", line.repeat(5))).unwrap();
        assert_eq!(history.read().unwrap(), ["kept"]);
        history.add("new").unwrap();
        assert_eq!(history.read().unwrap(), ["kept", "new"]);
        assert!(std::fs::metadata(&history.path).unwrap().len() <= MAX_BYTES);
    }

    #[test]
    fn programs_that_add_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let history = at(folder.path());
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for program in 0..4 {
                let (history, start) = (&history, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..200).for_each(|n| history.add(&format!("{program} {n}")).unwrap());
                });
            }
        });
        let lines = history.read().unwrap();
        for program in 0..4 {
            let of_one = lines.iter().filter_map(|line| line.strip_prefix(&format!("{program} ")));
            assert!(of_one.eq((0..200).map(|n| n.to_string()).collect::<Vec<_>>()), "{lines:?}");
        }
    }

    #[test]
    fn a_file_that_is_in_use_is_an_error_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let history = made(folder.path());
        let file = File::open(&history.path).unwrap();
        file.lock().unwrap();
        assert!(history.add("second").unwrap_err().to_string().contains("another program"));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_reads_it_and_only_a_plain_file_is_used() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let history = made(folder.path());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&history.path), 0o600);
        assert_eq!(mode(history.path.parent().unwrap()), 0o700);
        std::fs::set_permissions(&history.path, std::fs::Permissions::from_mode(0o644)).unwrap();
        history.add("second").unwrap();
        assert_eq!(mode(&history.path), 0o600);

        let target = folder.path().join("target");
        std::fs::rename(&history.path, &target).unwrap();
        symlink(&target, &history.path).unwrap();
        let before = std::fs::read(&target).unwrap();
        assert!(history.add("third").is_err() && history.read().is_err());
        assert_eq!(std::fs::read(&target).unwrap(), before);
        std::fs::remove_file(&history.path).unwrap();
        // Nobody writes into the pipe: opening it must not wait.
        assert!(std::process::Command::new("mkfifo").arg(&history.path).status().unwrap().success());
        assert!(history.add("third").is_err() && history.read().is_err());
        std::fs::remove_file(&history.path).unwrap();
        std::fs::create_dir(&history.path).unwrap();
        assert!(history.add("third").is_err() && history.read().is_err());
    }
}
