//! Reads the head of a file front to back and never past its end. An item that does not fit in the remaining bytes is
//! refused before memory is allocated for it.

use crate::Error;
use bytemuck::Pod;
use std::collections::TryReserveError;
use std::fmt::Display;
use std::io::{self, BufRead};

/// A reader that knows its position and the length of the file.
pub(crate) struct Cursor<'a, R> {
    input: R,
    file: &'a str,
    position: u64,
    size: u64,
    /// The option `head`.
    limit: u64,
}

impl<'a, R: BufRead> Cursor<'a, R> {
    /// A cursor at the start of a file of `size` bytes. It does not read beyond `limit`; `file` is the name in errors.
    pub(crate) fn new(input: R, file: &'a str, size: u64, limit: u64) -> Self {
        Cursor { input, file, position: 0, size, limit }
    }

    /// The name of the file in errors.
    pub(crate) fn file(&self) -> String {
        self.file.to_string()
    }

    /// Bytes read so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Length of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Checks that `count` items of at least `least` bytes fit in the remaining bytes.
    pub(crate) fn expect(&self, count: u64, least: u64, what: &dyn Display) -> Result<(), Error> {
        self.expect_from(self.position, count, least, what)
    }

    /// Like [`expect`](Self::expect), for an item that begins at `at`, before its length.
    fn expect_from(&self, at: u64, count: u64, least: u64, what: &dyn Display) -> Result<(), Error> {
        let needed = u128::from(self.position) + u128::from(count) * u128::from(least);
        match u64::try_from(needed) {
            Ok(end) if end <= self.size.min(self.limit) => Ok(()),
            // A sparse file of any length takes no disk space, so its length does not bound the memory.
            Ok(end) if end <= self.size => Err(Error::Limit {
                file: self.file(),
                what: format!("the end of {what}"),
                at,
                found: end,
                limit: self.limit,
                option: "head",
            }),
            _ => {
                let what = what.to_string();
                Err(Error::Truncated { file: self.file(), what, at: at.into(), needed, size: self.size })
            }
        }
    }

    /// Reads one number.
    pub(crate) fn number<T: Number>(&mut self, what: &dyn Display) -> Result<T, Error> {
        self.expect(1, size_of::<T>() as u64, what)?;
        let mut number = T::zeroed();
        self.fill(bytemuck::bytes_of_mut(&mut number), what)?;
        Ok(number.little_endian())
    }

    /// Reads `count` numbers.
    pub(crate) fn numbers<T: Number>(&mut self, count: u64, what: &dyn Display) -> Result<Vec<T>, Error> {
        self.expect(count, size_of::<T>() as u64, what)?;
        let mut numbers = Vec::new();
        let count = self.room(count, |n| numbers.try_reserve_exact(n), size_of::<T>(), what)?;
        numbers.resize(count, T::zeroed());
        self.fill(bytemuck::cast_slice_mut(&mut numbers), what)?;
        if cfg!(target_endian = "big") {
            numbers.iter_mut().for_each(|n| *n = n.little_endian());
        }
        Ok(numbers)
    }

    /// Reads the length of a string and checks that the string fits in the remaining bytes.
    pub(crate) fn string_length(&mut self, what: &dyn Display) -> Result<u64, Error> {
        let at = self.position;
        let len: u64 = self.number(&format_args!("the length of {what}"))?;
        self.expect_from(at, len, 1, &format_args!("{what} of {len} bytes"))?;
        Ok(len)
    }

    /// Reads `len` bytes and appends them to `bytes`.
    pub(crate) fn append(&mut self, bytes: &mut Vec<u8>, len: u64, what: &dyn Display) -> Result<(), Error> {
        self.expect(len, 1, what)?;
        let start = bytes.len();
        let len = self.room(len, |n| bytes.try_reserve(n), 1, what)?;
        bytes.resize(start + len, 0);
        self.fill(&mut bytes[start..], what)
    }

    /// Reads a string (its length, then its bytes) and appends it to `bytes`.
    pub(crate) fn string(&mut self, bytes: &mut Vec<u8>, what: &dyn Display) -> Result<(), Error> {
        let len = self.string_length(what)?;
        self.append(bytes, len, what)
    }

    /// Passes the strings that are complete in the reader's buffer to `take`: at most `most`, and until `take` refuses
    /// one. Returns their number. Stops before a truncated or invalid string, whose error is found by reading it with
    /// the other methods.
    pub(crate) fn strings_at_hand(&mut self, most: u64, mut take: impl FnMut(&[u8]) -> bool) -> u64 {
        let left = self.size.min(self.limit).saturating_sub(self.position);
        let Ok(buffer) = self.input.fill_buf() else { return 0 };
        let buffer = &buffer[..buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        let (mut rest, mut taken) = (buffer, 0);
        while taken < most {
            let Some((len, after)) = rest.split_first_chunk() else { break };
            let len = usize::try_from(u64::from_le_bytes(*len)).unwrap_or(usize::MAX);
            let Some((text, after)) = after.split_at_checked(len) else { break };
            if !take(text) {
                break;
            }
            (rest, taken) = (after, taken + 1);
        }
        let used = buffer.len() - rest.len();
        self.input.consume(used);
        self.position += used as u64;
        taken
    }

    /// Reserves memory. A failed reservation, or a count above the address space, is an error.
    pub(crate) fn room(
        &self,
        count: u64,
        reserve: impl FnOnce(usize) -> Result<(), TryReserveError>,
        item_bytes: usize,
        what: &dyn Display,
    ) -> Result<usize, Error> {
        match usize::try_from(count) {
            Ok(n) if reserve(n).is_ok() => Ok(n),
            _ => Err(Error::OutOfMemory {
                file: self.file(),
                what: what.to_string(),
                bytes: u128::from(count) * item_bytes as u128,
            }),
        }
    }

    fn fill(&mut self, bytes: &mut [u8], what: &dyn Display) -> Result<(), Error> {
        self.input.read_exact(bytes).map_err(|e| {
            let source = match e.kind() {
                io::ErrorKind::UnexpectedEof => io::Error::other("the file became shorter while it was read"),
                _ => e,
            };
            Error::Io { file: self.file(), action: format!("read {what} at byte {}", self.position), source }
        })?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

/// A number of the format: little-endian in files.
pub(crate) trait Number: Pod {
    /// Converts between the byte order of the machine and little-endian.
    fn little_endian(self) -> Self;
}

macro_rules! numbers {
    ($($integer:ty),+; $($float:ty),+) => {
        $(impl Number for $integer {
            fn little_endian(self) -> Self {
                <$integer>::from_le(self)
            }
        })+
        $(impl Number for $float {
            fn little_endian(self) -> Self {
                <$float>::from_bits(self.to_bits().to_le())
            }
        })+
    };
}

numbers!(u8, i8, u16, i16, u32, i32, u64, i64; f32, f64);
