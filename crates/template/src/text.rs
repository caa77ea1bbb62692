//! Texts: shared bytes that know which of them come from the template.

use crate::error::{Result, wrong};
use crate::meter::{Charge, Meter};
use std::ops::Range;
use std::rc::Rc;

/// Where a byte of a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The template, or an operation that adds quotes, padding or numbers.
    Template,
    /// A text of the conversation.
    Input,
}

impl Origin {
    fn other(self) -> Origin {
        match self {
            Origin::Template => Origin::Input,
            Origin::Input => Origin::Template,
        }
    }
}

/// Bytes of one origin.
pub(crate) type Run = (Range<usize>, Origin);

/// The origins of the bytes of a text: runs in turns.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    first: Origin,
    /// Where the origin changes, ascending.
    borders: Vec<u32>,
}

impl Runs {
    fn last(&self) -> Origin {
        if self.borders.len().is_multiple_of(2) { self.first } else { self.first.other() }
    }

    /// The runs of a range, in order; none is empty.
    pub(crate) fn of(&self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, Origin)> + '_ {
        let mut at = range.start;
        let mut next = self.borders.partition_point(|&border| border as usize <= at);
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let origin = if next.is_multiple_of(2) { self.first } else { self.first.other() };
            let end = self.borders.get(next).map_or(range.end, |&border| (border as usize).min(range.end));
            let run = (at..end, origin);
            (at, next) = (end, next + 1);
            Some(run)
        })
    }
}

/// The bytes that texts share.
struct Buf {
    data: String,
    ascii: bool,
    runs: Runs,
    charge: Charge,
}

/// A text: a range of shared bytes.
#[derive(Clone, Default)]
pub(crate) struct Text {
    /// `None`: empty.
    buf: Option<Rc<Buf>>,
    start: u32,
    len: u32,
    /// A safe text (`Markup` in markupsafe), which is not escaped.
    safe: bool,
}

impl Text {
    pub(crate) fn new(meter: &Rc<Meter>, text: &str, origin: Origin) -> Result<Text> {
        if text.is_empty() {
            return Ok(Text::default());
        }
        check_length(text.len())?;
        meter.piece(text.len())?;
        let charge = Charge::of::<Buf>(meter, text.len())?;
        let runs = Runs { first: origin, borders: Vec::new() };
        let buf = Buf { data: text.to_string(), ascii: text.is_ascii(), runs, charge };
        Ok(Text { buf: Some(Rc::new(buf)), start: 0, len: text.len() as u32, safe: false })
    }

    pub(crate) fn as_str(&self) -> &str {
        let range = self.start as usize..(self.start + self.len) as usize;
        self.buf.as_ref().map_or("", |buf| &buf.data[range])
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether these are its bytes; of another length that is known without a look at them.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.len() == text.len() && self.as_str() == text
    }

    pub(crate) fn is_safe(&self) -> bool {
        self.safe
    }

    pub(crate) fn safe(self, safe: bool) -> Text {
        Text { safe, ..self }
    }

    /// Whether byte and character offsets are the same.
    pub(crate) fn is_ascii(&self) -> bool {
        self.buf.as_ref().is_none_or(|buf| buf.ascii) || {
            self.note();
            self.as_str().is_ascii()
        }
    }

    /// Its bytes were gone through, where no error can be given.
    pub(crate) fn note(&self) {
        if let Some(buf) = &self.buf {
            buf.charge.meter().note(self.len());
        }
    }

    /// Number of characters.
    pub(crate) fn chars(&self) -> usize {
        if self.is_ascii() { self.len() } else { self.as_str().chars().count() }
    }

    /// A part, by byte offsets on borders of characters.
    pub(crate) fn part(&self, range: Range<usize>) -> Text {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        if start >= end {
            return Text { safe: self.safe, ..Text::default() };
        }
        // Both are at most `len`, which has 32 bits.
        Text { start: self.start + start as u32, len: (end - start) as u32, ..self.clone() }
    }

    /// The part that `inner`, a subslice of [`Text::as_str`], is.
    pub(crate) fn sub(&self, inner: &str) -> Text {
        let at = (inner.as_ptr() as usize).saturating_sub(self.as_str().as_ptr() as usize);
        self.part(at..at + inner.len())
    }

    /// The runs, by offsets in this text.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Range<usize>, Origin)> + '_ {
        let start = self.start as usize;
        let range = start..start + self.len as usize;
        let runs = self.buf.iter().flat_map(move |buf| buf.runs.of(range.clone()));
        runs.map(move |(run, origin)| (run.start - start..run.end - start, origin))
    }

    /// The origin of the byte at an offset.
    pub(crate) fn origin(&self, at: usize) -> Origin {
        let at = self.start as usize + at;
        let run = self.buf.as_ref().and_then(|buf| buf.runs.of(at..at + 1).next());
        run.map_or(Origin::Template, |(_, origin)| origin)
    }

    /// The only origin that it has, if it has one only.
    pub(crate) fn single_origin(&self) -> Option<Origin> {
        let mut runs = self.runs();
        let first = runs.next().map_or(Origin::Template, |(_, origin)| origin);
        if runs.next().is_none() { Some(first) } else { None }
    }

    /// Its characters with the origin of each.
    pub(crate) fn chars_with_origin(&self) -> impl Iterator<Item = (char, Origin)> + '_ {
        self.runs().flat_map(|(run, origin)| self.as_str()[run].chars().map(move |c| (c, origin)))
    }
}

/// A text in the making. Bytes are charged before they are allocated.
pub(crate) struct Builder {
    data: String,
    runs: Runs,
    charge: Charge,
}

/// Offsets have 32 bits, and `Text::start + Text::len` must not overflow.
const LONGEST: usize = u32::MAX as usize / 2;

fn check_length(len: usize) -> Result<()> {
    if len > LONGEST { wrong(format!("a text of more than {LONGEST} bytes")) } else { Ok(()) }
}

impl Builder {
    pub(crate) fn new(meter: &Rc<Meter>) -> Result<Builder> {
        meter.value()?;
        let charge = Charge::of::<Buf>(meter, 0)?;
        Ok(Builder { data: String::new(), runs: Runs { first: Origin::Template, borders: Vec::new() }, charge })
    }

    pub(crate) fn with_capacity(meter: &Rc<Meter>, bytes: usize) -> Result<Builder> {
        let mut builder = Builder::new(meter)?;
        if bytes > 0 {
            builder.reallocate(bytes)?;
        }
        Ok(builder)
    }

    pub(crate) fn meter(&self) -> &Rc<Meter> {
        self.charge.meter()
    }

    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    fn reallocate(&mut self, capacity: usize) -> Result<()> {
        check_length(capacity)?;
        let old = self.data.capacity();
        // Both may be there while the bytes are moved.
        self.charge.add(capacity)?;
        if capacity < old {
            self.data.shrink_to(capacity);
        } else if self.data.try_reserve_exact(capacity - self.data.len()).is_err() {
            self.charge.remove(capacity);
            return wrong("no memory for a text");
        }
        self.charge.remove(old);
        Ok(())
    }

    /// Room for `bytes` more.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<()> {
        let len = self.data.len().saturating_add(bytes);
        if len <= self.data.capacity() {
            return Ok(());
        }
        self.reallocate(len.max((self.data.capacity() * 2).min(LONGEST)).max(32))
    }

    pub(crate) fn push(&mut self, text: &str, origin: Origin) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.meter().piece(text.len())?;
        self.reserve(text.len())?;
        if self.data.is_empty() {
            self.runs.first = origin;
        } else if self.runs.last() != origin {
            let borders = &mut self.runs.borders;
            if borders.len() == borders.capacity() {
                let more = borders.capacity().max(4);
                // Twice: the old ones are there while they are moved.
                self.charge.add(size_of::<u32>() * (more + borders.capacity()))?;
                borders.reserve_exact(more);
                self.charge.remove(size_of::<u32>() * (borders.len()));
            }
            borders.push(self.data.len() as u32);
        }
        self.data.push_str(text);
        Ok(())
    }

    /// Appends text that an operation adds.
    pub(crate) fn own(&mut self, text: &str) -> Result<()> {
        self.push(text, Origin::Template)
    }

    pub(crate) fn char(&mut self, c: char, origin: Origin) -> Result<()> {
        self.push(c.encode_utf8(&mut [0; 4]), origin)
    }

    pub(crate) fn text(&mut self, text: &Text) -> Result<()> {
        let bytes = text.as_str();
        if let Some(Buf { runs: Runs { first, borders }, .. }) = text.buf.as_deref()
            && borders.is_empty()
        {
            return self.push(bytes, *first);
        }
        self.reserve(text.len())?;
        for (run, origin) in text.runs() {
            self.push(&bytes[run], origin)?;
        }
        Ok(())
    }

    /// `count` times the same.
    pub(crate) fn repeat(&mut self, text: &Text, count: usize) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.reserve(text.len().saturating_mul(count))?;
        let Some(origin) = text.single_origin() else {
            return (0..count).try_for_each(|_| self.text(text));
        };
        // Short ones several at a time.
        const AT_ONCE: usize = 1024;
        let several = (AT_ONCE / text.len()).clamp(1, count.max(1));
        let piece = text.as_str().repeat(if several > 1 { several } else { 0 });
        let piece = if several > 1 { piece.as_str() } else { text.as_str() };
        for _ in 0..count / several {
            self.push(piece, origin)?;
        }
        self.push(&piece[..count % several * text.len()], origin)
    }

    pub(crate) fn finish(mut self) -> Result<Text> {
        let (len, capacity) = (self.data.len(), self.data.capacity());
        if len == 0 {
            return Ok(Text::default());
        }
        if capacity - len > len / 8 + 64 {
            self.reallocate(len)?;
        }
        let (ascii, len) = (self.data.is_ascii(), len as u32);
        let buf = Buf { data: self.data, ascii, runs: self.runs, charge: self.charge };
        Ok(Text { buf: Some(Rc::new(buf)), start: 0, len, safe: false })
    }

    /// The text itself, its runs, and its charge, which goes.
    pub(crate) fn into_parts(self) -> Result<(String, Vec<Run>)> {
        let n = self.runs.borders.len() + 1;
        let charge = Charge::new(self.meter(), n * size_of::<Run>())?;
        let mut runs = Vec::with_capacity(n);
        runs.extend(self.runs.of(0..self.data.len()));
        drop(charge);
        Ok((self.data, runs))
    }
}
