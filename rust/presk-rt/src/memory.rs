//! The memory of one call: buffers by number, views of them as addresses, and the arena they live in.
//!
//! Everything here rests on one invariant: [`Memory`] is only made for a schedule that has been verified, with pointers to
//! as many bytes as it declares, and is asked only for that schedule's own views, with its loops' counters within their
//! ranges. The verifier has then proven that each view lies in its buffer, is aligned to its element, and that what a step
//! writes overlaps nothing else the step touches, except where a kernel says that an output takes an input's place.

#![allow(unsafe_code, reason = "buffers are the caller's and the arena's bytes, addressed by proven offsets")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::error::{Error, ErrorKind};
use crate::numbers::{Float, narrow, narrow_bf16};

/// What arenas and scratch are aligned to: a cache line, and the widest vectors.
pub const ALIGNMENT: usize = 64;

/// Bytes of its own, aligned to [`ALIGNMENT`], zero at first.
pub struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: a block owns its bytes as a boxed slice does.
unsafe impl Send for Block {}
// SAFETY: a shared block only gives its address away; whoever uses that states why they may.
unsafe impl Sync for Block {}

impl Block {
    /// A block of that many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Memory`] where there aren't as many.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let fault = || ErrorKind::Memory(bytes as u64).anywhere();
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).map_err(|_| fault())?;
        // SAFETY: the layout's size isn't zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(fault)?;
        Ok(Self { start, layout })
    }

    /// The first byte.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the block owns this many bytes, initialised from the start, and is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.layout.size()) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start(), self.layout) };
    }
}

/// What calls have given back and others may lease: never waited for, so that neither a thread nor a fork is held up.
pub struct FreeList<T>(Mutex<Vec<T>>);

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T> FreeList<T> {
    /// Something free; none also where another thread is looking just now.
    pub fn take(&self) -> Option<T> {
        self.0.try_lock().ok()?.pop()
    }

    /// Gives it back; it is dropped where another thread is looking just now.
    pub fn give(&self, each: T) {
        if let Ok(mut free) = self.0.try_lock() {
            free.push(each);
        }
    }

    /// How many are free.
    pub fn count(&self) -> usize {
        self.0.lock().map_or(0, |free| free.len())
    }
}

/// A view as it is run: a buffer's number, an offset, and for each counter its step, all in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Number of the buffer among all of the schedule.
    pub slot: u32,
    /// The offset with all counters 0.
    pub offset: isize,
    /// Number of a counter, and by how much it moves the view.
    pub steps: Box<[(u32, isize)]>,
    /// Bytes from there on that a step reads or writes.
    pub bytes: usize,
}

/// The buffers and counters of one call.
#[derive(Default)]
pub struct Memory {
    starts: Vec<*mut u8>,
    /// The round each loop is in, by the loop's number.
    pub counters: Vec<u64>,
}

// SAFETY: the pointers' targets are the call's, wherever it runs.
unsafe impl Send for Memory {}
// SAFETY: shared by the workers of a launch, who write disjoint parts.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory for that many buffers and loops.
    #[must_use]
    pub fn with_capacity(buffers: usize, loops: usize) -> Self {
        Self { starts: Vec::with_capacity(buffers), counters: vec![0; loops] }
    }

    /// Takes the buffers of a call in place of those of the last one.
    ///
    /// # Safety
    /// For as long as views are asked for: the pointers are those of as many bytes as the verified schedule declares for
    /// each buffer, in its order, aligned to the buffer's element; those it writes are written by nobody else.
    pub unsafe fn enter(&mut self, starts: impl Iterator<Item = *mut u8>) {
        self.starts.clear();
        self.starts.extend(starts);
    }

    /// The first byte of a view.
    #[must_use]
    pub fn address(&self, spot: &Spot) -> *mut u8 {
        let mut offset = spot.offset;
        for &(counter, step) in &spot.steps {
            // A counter is below a loop's trips, and the product within the buffer.
            offset = offset.wrapping_add(step.wrapping_mul(self.counters[counter as usize] as isize));
        }
        self.starts[spot.slot as usize].wrapping_offset(offset)
    }

    /// The bytes of a view that a step reads.
    #[must_use]
    pub fn read(&self, spot: &Spot) -> &[u8] {
        // SAFETY: the module's invariant: the view lies in a buffer that lives for the call, and no step writes to what it
        // reads. Bytes are initialised: arenas are zero at first, arrays are the caller's.
        unsafe { std::slice::from_raw_parts(self.address(spot), spot.bytes) }
    }

    /// Calls `fill` with the bytes of a step's source and those of its target.
    pub fn between(&self, source: &Spot, target: &Spot, fill: impl FnOnce(&[u8], &mut [u8])) {
        // SAFETY: the module's invariant: both views lie in their buffers and don't overlap; only the call's own thread
        // gets here, and it runs one step at a time.
        let target = unsafe { std::slice::from_raw_parts_mut(self.address(target), target.bytes) };
        fill(self.read(source), target);
    }

    /// Zeros in a view that a step writes.
    pub fn clear(&self, target: &Spot) {
        // SAFETY: the module's invariant: the view lies in its buffer, and only the call's own thread gets here, between steps.
        unsafe { std::slice::from_raw_parts_mut(self.address(target), target.bytes) }.fill(0);
    }

    /// The elements of a step's target, to be set one by one from several threads.
    #[must_use]
    pub fn cells(&self, target: &Spot) -> Cells<'_> {
        Cells { start: self.address(target), bytes: target.bytes, memory: std::marker::PhantomData }
    }

    /// Exchanges the places of two buffers.
    pub fn swap(&mut self, first: u32, second: u32) {
        self.starts.swap(first as usize, second as usize);
    }
}

/// Elements that are only set. Setting is atomic, so that several threads may set different ones, or even one, at once.
#[derive(Clone, Copy)]
pub struct Cells<'m> {
    start: *mut u8,
    bytes: usize,
    memory: std::marker::PhantomData<&'m Memory>,
}

// SAFETY: every access is atomic.
unsafe impl Send for Cells<'_> {}
// SAFETY: every access is atomic.
unsafe impl Sync for Cells<'_> {}

impl Cells<'_> {
    /// The place of an element of N bytes; panics past the end.
    fn place<const N: usize>(self, at: usize) -> *mut u8 {
        assert!(at < self.bytes / N, "element {at} of {}", self.bytes / N);
        self.start.wrapping_add(at * N)
    }

    /// Sets element `at` to a number, rounded once to the element's type (bf16 through f32).
    pub fn set(self, element: Float, at: usize, value: f64) {
        match element {
            Float::F64 => {
                let place = self.place::<8>(at).cast();
                // SAFETY: `place` lies in the view, which is aligned to its element and which nothing but such cells
                // touches during the step.
                unsafe { AtomicU64::from_ptr(place) }.store(value.to_bits(), Ordering::Relaxed);
            }
            Float::F32 => {
                let place = self.place::<4>(at).cast();
                // SAFETY: as above.
                unsafe { AtomicU32::from_ptr(place) }.store(narrow(value).to_bits(), Ordering::Relaxed);
            }
            Float::Bf16 => {
                let place = self.place::<2>(at).cast();
                // SAFETY: as above.
                unsafe { AtomicU16::from_ptr(place) }.store(narrow_bf16(narrow(value)), Ordering::Relaxed);
            }
        }
    }

    /// Sets element `at` to an integer.
    pub fn set_int(self, at: usize, value: i64) {
        let place = self.place::<8>(at).cast();
        // SAFETY: as for `set`.
        unsafe { AtomicI64::from_ptr(place) }.store(value, Ordering::Relaxed);
    }
}
