//! Memory that several threads write at once, each in its own part, and the views that cut it into these parts. All
//! unsafe code that touches the memory of buffers is here.
//!
//! The argument for every view: [`Program::new`](crate::program) has checked that arguments are inside their buffers,
//! that no two regions share a buffer, that no result of a step overlaps its operands or its other results, that
//! concurrent tiles of a step write disjoint parts, that only one tile writes a state or a head of a cache, and that
//! scratch overlaps no argument of its step and holds the sections of its kernel ([`Section::part`](crate::Section) gives
//! the tiles of a first phase disjoint words). The waits of the tile program separate a phase that writes bytes from every
//! other phase that uses them. The host reads and writes only while no step runs.
#![allow(unsafe_code)]

use crate::pages::{HUGE, Pages};
use bytemuck::Pod;
use inkstone_compute::{Budget, Charge, Error, Layout, Result};
use inkstone_tensor::cache::{Cache, RUN};
use inkstone_tensor::{DType, Dim, NoMemory, Type};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a cache line: where buffers begin.
pub(crate) const LINE: usize = 64;
/// The unit of allocations, aligned like the zeroed memory of the system. With a larger alignment the standard library
/// would write the zeros itself, and thereby touch every page.
type Chunk = u128;

/// A buffer: zeroed at first, aligned to cache lines, committed by the system when it is touched; a large one in huge
/// pages, where there are any.
pub(crate) struct Memory {
    start: *mut u8,
    bytes: u64,
    charge: Charge,
    _store: Store,
}

/// The owner of the memory of a buffer, which is accessed only through [`Memory::start`].
#[expect(dead_code, reason = "it is held, and dropped")]
enum Store {
    Chunks(Chunks),
    Pages(Pages),
}

/// A box that others point into.
struct Chunks(*mut [Chunk]);

impl Drop for Chunks {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and nobody else has it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Store {
    /// Zeros, and where they begin; `None` if there is no memory.
    fn new(bytes: usize) -> Option<(Store, *mut u8)> {
        if bytes >= HUGE {
            let mut pages = Pages::new(bytes)?;
            let start = pages.bytes_mut().as_mut_ptr();
            return Some((Store::Pages(pages), aligned(start)));
        }
        let chunks = bytemuck::allocation::try_zeroed_slice_box::<Chunk>(bytes / size_of::<Chunk>()).ok()?;
        let chunks = Chunks(Box::into_raw(chunks));
        let start = aligned(chunks.0.cast());
        Some((Store::Chunks(chunks), start))
    }
}

/// The first line from a place on.
fn aligned(place: *mut u8) -> *mut u8 {
    // Less than a line, which a store has beyond the bytes of its buffer.
    place.wrapping_add(place.addr().wrapping_neg() % LINE)
}

// SAFETY: only this value owns the memory, and every access goes through the methods below, whose callers keep writers
// separate from all other accesses (see the module).
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed memory; `what` it is for is told in errors.
    pub(crate) fn new(budget: &Arc<Budget>, bytes: u64, what: &'static str) -> Result<Memory> {
        let charge = budget.charge(bytes, what)?;
        let store = usize::try_from(bytes.saturating_add(2 * LINE as u64 - 1)).ok().and_then(Store::new);
        let (store, start) = store.ok_or(Error::NoMemory { what, source: NoMemory { bytes } })?;
        Ok(Memory { start, bytes, charge, _store: store })
    }

    /// Where it begins; two buffers are one if they begin at one place.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Copies bytes in.
    ///
    /// # Safety
    /// Nothing else touches the memory meanwhile.
    pub(crate) unsafe fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.range(offset, bytes.len())?;
        // SAFETY: the range was checked, and the caller promises that nothing else touches it.
        unsafe { std::slice::from_raw_parts_mut(self.start().add(offset), bytes.len()) }.copy_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes out.
    ///
    /// # Safety
    /// Nothing writes the memory meanwhile.
    pub(crate) unsafe fn read(&self, offset: usize, into: &mut [u8]) -> Result<()> {
        self.range(offset, into.len())?;
        // SAFETY: the range was checked, and the caller promises that nothing writes it.
        into.copy_from_slice(unsafe { std::slice::from_raw_parts(self.start().add(offset), into.len()) });
        Ok(())
    }

    fn range(&self, offset: usize, len: usize) -> Result<()> {
        let end = offset.saturating_add(len);
        if end as u64 <= self.bytes {
            return Ok(());
        }
        Err(Error::OutOfBuffer { offset: offset as u64, end: end as u64, bytes: self.bytes })
    }
}

/// The place of an argument.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    start: *mut u8,
    /// Bytes that may be touched from there on.
    bytes: usize,
}

// SAFETY: a place is only a range; it is touched through the views below.
unsafe impl Send for Place {}
// SAFETY: as above.
unsafe impl Sync for Place {}

impl Place {
    /// A range of a buffer.
    pub(crate) fn of(memory: &Memory, offset: u64, bytes: u64) -> Result<Place> {
        let (offset, bytes) = (offset as usize, bytes as usize);
        memory.range(offset, bytes)?;
        // SAFETY: within the buffer, as was just checked.
        Ok(Place { start: unsafe { memory.start().add(offset) }, bytes })
    }

    /// Some of its words.
    ///
    /// # Safety
    /// The place must be alive, and no other code may write these words, as long as they are used.
    pub(crate) unsafe fn words<'a>(self, words: Range<usize>) -> &'a [u32] {
        let (start, count) = self.first_word(words);
        // SAFETY: inside the place, whose words are aligned; the caller promises the rest.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// The same, to be written.
    ///
    /// # Safety
    /// The place must be alive, and no other code may access these words, as long as they are used.
    pub(crate) unsafe fn words_mut<'a>(self, words: Range<usize>) -> &'a mut [u32] {
        let (start, count) = self.first_word(words);
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(start, count) }
    }

    /// Where words begin, and how many there are.
    fn first_word(self, words: Range<usize>) -> (*mut u32, usize) {
        let (from, to) = (words.start.saturating_mul(4), words.end.saturating_mul(4));
        assert!(from <= to && to <= self.bytes, "words {words:?} of {} bytes", self.bytes);
        let start: *mut u32 = self.start.wrapping_add(from).cast();
        assert!(start.is_aligned(), "words that begin at {start:?}");
        (start, words.len())
    }

    /// Bytes that nobody writes while they are shared. They must outlive the place.
    pub(crate) fn shared(bytes: &[u8]) -> Place {
        Place { start: bytes.as_ptr().cast_mut(), bytes: bytes.len() }
    }
}

/// A type with what would else be divided for in every tile.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) ty: Type,
    /// Bytes of a row.
    row: usize,
}

impl Shape {
    pub(crate) fn of(ty: Type) -> Shape {
        Shape { ty, row: ty.row_bytes() as usize }
    }
}

/// The rows of a matrix that a tile reads.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The type of the whole.
    pub ty: Type,
    /// The layout of the whole matrix.
    pub layout: Layout,
    /// The row of the whole with which the view begins.
    pub first: usize,
    count: usize,
    /// Bytes of a row.
    row: usize,
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// The rows `rows` of the matrix at `place`.
    ///
    /// # Safety
    /// The place must be alive, and no other code may write these rows, as long as the view exists.
    pub(crate) unsafe fn new(Shape { ty, row }: Shape, place: Place, rows: Range<usize>) -> View<'a> {
        let (from, to) = (rows.start.saturating_mul(row), rows.end.saturating_mul(row));
        assert!(from <= to && to <= place.bytes, "rows {rows:?} of {ty} are in {} bytes", place.bytes);
        // SAFETY: inside the place; the caller promises the rest.
        let bytes = unsafe { std::slice::from_raw_parts(place.start.add(from), to - from) };
        View { ty, layout: Layout::FILE, first: rows.start, count: rows.len(), row, bytes }
    }

    /// A whole weight.
    ///
    /// # Safety
    /// The place is alive, and nobody writes it, for as long as the view lives.
    pub(crate) unsafe fn weight(Shape { ty, row }: Shape, layout: Layout, place: Place, rows: usize) -> View<'a> {
        // SAFETY: a place is memory of so many bytes; the rest is the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(place.start, place.bytes) };
        View { ty, layout, first: 0, count: rows, row, bytes }
    }

    /// A view without rows, for operands that a step consumes, which are accessed through its result.
    pub(crate) fn none(Shape { ty, row }: Shape) -> View<'a> {
        View { ty, layout: Layout::FILE, first: 0, count: 0, row, bytes: &[] }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.count
    }

    /// Bytes of a row.
    pub(crate) fn stride(&self) -> usize {
        self.row
    }

    /// The encoded bytes of a row, counted from the beginning of the whole.
    pub fn row_bytes(&self, row: usize) -> &'a [u8] {
        let bytes = self.row;
        &self.bytes[(row - self.first) * bytes..][..bytes]
    }

    /// The rows of one of `kv_heads` KV heads, if the view is a whole cache.
    pub(crate) fn head(&self, kv_heads: usize, head: usize) -> HeadRows<'a> {
        let cache = Cache::of(&self.ty, self.count);
        HeadRows::new(Shape { ty: self.ty, row: self.row }, self.bytes.as_ptr(), cache, kv_heads, head)
    }

    /// The encoded bytes of `count` rows, or as many as there are, from row `row` of the whole on.
    pub(crate) fn rows_from(&self, row: usize, count: usize) -> &'a [u8] {
        let bytes = self.row;
        let end = self.count.min(row - self.first + count);
        &self.bytes[(row - self.first) * bytes..end * bytes]
    }

    /// `count` groups of `rows` rows, for a weight whose layout stores this number of rows together.
    pub(crate) fn groups(&self, rows: usize, first: usize, count: usize) -> &'a [u8] {
        let bytes = rows * self.row;
        &self.bytes[first * bytes..][..count * bytes]
    }

    /// All elements as words.
    pub fn all<T: Pod>(&self) -> &'a [T] {
        bytemuck::cast_slice(self.bytes)
    }

    /// A row of words, counted from the beginning of the whole.
    pub fn row<T: Pod>(&self, row: usize) -> &'a [T] {
        bytemuck::cast_slice(self.row_bytes(row))
    }
}

/// The rows of one KV head in a cache, for reads.
pub(crate) struct HeadRows<'a> {
    pub(crate) dtype: DType,
    /// The number of values of a row before the values of the head, because whole blocks of the dtype are read.
    pub(crate) skip: usize,
    /// Where what is read of it begins in the first row.
    start: *const u8,
    /// Bytes from a row to the next.
    stride: usize,
    /// Bytes that are read of a row.
    bytes: usize,
    cache: Cache,
    /// Which of the heads of the cache it is, or is part of.
    head: usize,
    _memory: std::marker::PhantomData<&'a [u8]>,
}

impl<'a> HeadRows<'a> {
    /// The rows of KV head `head` of `kv_heads` in a cache that begins at `whole`. They must be readable as long as
    /// this value exists.
    fn new(Shape { ty, row: stride }: Shape, whole: *const u8, cache: Cache, kv_heads: usize, head: usize) -> Self {
        let (block, bytes) = (ty.dtype.block(), ty.dtype.block_bytes());
        // KV heads of a row.
        let together = kv_heads / cache.heads;
        let (dim, at) = (ty.cols / together, head % together);
        let blocks = at * dim / block..((at + 1) * dim).div_ceil(block);
        assert!(head < kv_heads && blocks.end * block <= ty.cols, "head {head} of {kv_heads} of {ty}");
        HeadRows {
            dtype: ty.dtype,
            skip: at * dim - blocks.start * block,
            start: whole.wrapping_add(blocks.start * bytes),
            stride,
            bytes: blocks.len() * bytes,
            cache,
            head: head / together,
            _memory: std::marker::PhantomData,
        }
    }

    /// The encoded bytes at places of one [`RUN`].
    #[inline(always)]
    pub(crate) fn run(&self, places: Range<usize>) -> Run<'a> {
        let count = places.len();
        let start = match count {
            0 => self.start,
            _ => {
                let rows = [places.start, places.end - 1].map(|place| self.cache.row(self.head, place));
                assert!(rows[1] - rows[0] < count, "places {places:?} are not of one run of {RUN}");
                self.start.wrapping_add(rows[0] * self.stride)
            }
        };
        Run { start, stride: self.stride, bytes: self.bytes, count, _memory: std::marker::PhantomData }
    }

    /// Whether there are other heads between its rows.
    pub(crate) fn is_apart(&self) -> bool {
        self.stride != self.bytes
    }

    /// Values in a row.
    pub(crate) fn values(&self) -> usize {
        self.bytes / self.dtype.block_bytes() * self.dtype.block()
    }
}

/// The rows of a head at consecutive places.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    /// Of the first.
    start: *const u8,
    /// From one to the next.
    stride: usize,
    /// Of each.
    bytes: usize,
    count: usize,
    _memory: std::marker::PhantomData<&'a [u8]>,
}

impl<'a> Run<'a> {
    /// Of no places.
    pub(crate) const fn none() -> Run<'a> {
        let start = std::ptr::NonNull::dangling().as_ptr();
        Run { start, stride: 0, bytes: 0, count: 0, _memory: std::marker::PhantomData }
    }

    /// Of rows of so many bytes each.
    #[cfg(test)]
    pub(crate) fn of(rows: &'a [u8], bytes: usize) -> Run<'a> {
        let (start, count) = (rows.as_ptr(), rows.len() / bytes);
        Run { start, stride: bytes, bytes, count, _memory: std::marker::PhantomData }
    }

    /// Its first row, this number of times.
    pub(crate) fn repeated(self, count: usize) -> Run<'a> {
        Run { stride: 0, count: if self.count == 0 { 0 } else { count }, ..self }
    }

    /// How many rows it has.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Its start, and its number of cache lines if its rows are contiguous, for prefetches.
    #[inline(always)]
    pub(crate) fn lines(&self) -> (*const u8, usize) {
        let rows = if self.stride == 0 { self.count.min(1) } else { self.count };
        (self.start, (rows * self.bytes).div_ceil(LINE))
    }

    /// Bytes of a row.
    #[inline(always)]
    pub(crate) fn row_bytes(&self) -> usize {
        self.bytes
    }

    /// One after the other.
    #[inline(always)]
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a [u8]> {
        let Run { start, stride, bytes, count, .. } = *self;
        // SAFETY: a run is of rows that the view of its head may read.
        (0..count).map(move |i| unsafe { std::slice::from_raw_parts(start.add(i * stride), bytes) })
    }

    /// All rows, if they are contiguous.
    #[inline(always)]
    pub(crate) fn together(&self) -> Option<&'a [u8]> {
        // SAFETY: as above; these are the rows and nothing else.
        (self.stride == self.bytes).then(|| unsafe { std::slice::from_raw_parts(self.start, self.count * self.bytes) })
    }
}

/// The memory that a tile writes: only some columns of some rows of a matrix, or some heads of a cache.
pub struct ViewMut<'a> {
    /// The type of the whole.
    pub ty: Type,
    /// Its rows; none of a cache that is cut by heads.
    pub rows: Range<usize>,
    /// Its columns.
    pub cols: Range<usize>,
    /// The heads of a cache; empty for other values, and for parts of rows.
    pub heads: Range<usize>,
    cache: Cache,
    /// Bytes of a row.
    row: usize,
    place: Place,
    /// As if it held the memory.
    _memory: std::marker::PhantomData<&'a mut [u8]>,
}

impl ViewMut<'_> {
    /// The columns `cols` of the rows `rows` of the matrix at `place`.
    ///
    /// # Safety
    /// The place must be alive, and no other code may access these parts of these rows, as long as the view exists.
    pub(crate) unsafe fn new(Shape { ty, row }: Shape, place: Place, rows: Range<usize>, cols: Range<usize>) -> Self {
        let end = rows.end.saturating_mul(row);
        assert!(end <= place.bytes && cols.end <= ty.cols, "{rows:?} x {cols:?} of {ty} in {} bytes", place.bytes);
        let cache = Cache::of(&ty, rows.end);
        let whole = matches!(ty.rows, Dim::Slots { .. }) && rows.start == 0 && cols == (0..ty.cols);
        let heads = if whole { 0..cache.heads } else { 0..0 };
        ViewMut { ty, rows, cols, heads, cache, row, place, _memory: std::marker::PhantomData }
    }

    /// The heads `heads` of a cache with `rows` rows at `place`.
    ///
    /// # Safety
    /// The place must be alive, and no other code may access the rows of these heads, as long as the view exists.
    pub(crate) unsafe fn of_heads(shape: Shape, place: Place, rows: usize, heads: Range<usize>) -> Self {
        // SAFETY: the caller's promise; the view accesses only the rows of its heads.
        let whole = unsafe { ViewMut::new(shape, place, 0..rows, 0..shape.ty.cols) };
        assert!(heads.end <= whole.cache.heads, "heads {heads:?} of {}", shape.ty);
        ViewMut { rows: 0..0, heads, ..whole }
    }

    /// Its part of a row, counted from the beginning of the whole.
    #[inline]
    pub fn row_bytes(&mut self, row: usize) -> &mut [u8] {
        assert!(self.rows.contains(&row), "row {row} of {:?}", self.rows);
        let (block, bytes) = (self.ty.dtype.block(), self.ty.dtype.block_bytes());
        let from = row * self.row + self.cols.start / block * bytes;
        let len = (self.cols.end / block - self.cols.start / block) * bytes;
        // SAFETY: row and columns are the view's own, and `&mut self` lends one part at a time.
        unsafe { std::slice::from_raw_parts_mut(self.place.start.add(from), len) }
    }

    /// Its part of a row of words, counted from the beginning of the whole.
    #[inline]
    pub fn row<T: Pod>(&mut self, row: usize) -> &mut [T] {
        bytemuck::cast_slice_mut(self.row_bytes(row))
    }

    /// The row of one of its heads of a cache, at a place.
    pub fn head_bytes(&mut self, head: usize, place: usize) -> &mut [u8] {
        assert!(self.heads.contains(&head), "head {head} of {:?}", self.heads);
        let from = self.cache.row(head, place) * self.row;
        // SAFETY: the row is of the view's own heads, and `&mut self` lends one at a time.
        unsafe { std::slice::from_raw_parts_mut(self.place.start.add(from), self.row) }
    }

    /// The rows of one of `kv_heads` KV heads of a cache, for reads. No code writes them meanwhile.
    pub(crate) fn head(&self, kv_heads: usize, head: usize) -> HeadRows<'_> {
        let rows = HeadRows::new(Shape { ty: self.ty, row: self.row }, self.place.start, self.cache, kv_heads, head);
        assert!(self.heads.contains(&rows.head), "head {} of {:?}", rows.head, self.heads);
        rows
    }

    /// All words, if it is all columns of its rows.
    pub fn all<T: Pod>(&mut self) -> &mut [T] {
        assert_eq!(self.cols, 0..self.ty.cols, "all columns of {}", self.ty);
        let row = self.row;
        let (from, len) = (self.rows.start * row, self.rows.len() * row);
        // SAFETY: all of these rows are the view's own.
        bytemuck::cast_slice_mut(unsafe { std::slice::from_raw_parts_mut(self.place.start.add(from), len) })
    }
}

/// The memory of a buffer, if it belongs to the engine with this budget: runs of another engine would not wait for runs
/// of this one.
pub(crate) fn own<'b>(buffer: &'b inkstone_compute::Buffer, budget: &Arc<Budget>) -> Result<&'b Memory> {
    let foreign = || Error::Foreign { what: "buffer", engine: crate::Cpu::NAME.to_owned() };
    memory(buffer).ok().filter(|memory| memory.charge.is_of(budget)).ok_or_else(foreign)
}

/// The memory of a buffer, if it belongs to an engine of this kind.
pub(crate) fn memory(buffer: &inkstone_compute::Buffer) -> Result<&Memory> {
    buffer.get(crate::Cpu::NAME)
}
