//! The guest's memory, as cheap as an instance that answers one request can have it.
//!
//! With an allocator for blocks of any size, a quarter of what a request with rules runs is memory asked for and given back.
//! Nearly all of it is small: such blocks have lists by their size, so that asking for one is a handful of instructions, and
//! [`talc`] has the rest. Each page of 4 KiB that an instance touches for the first time costs as much as some ten thousand
//! instructions, and growing the memory more. So the first room is part of the module's own data, behind what is written at
//! every request anyway, and more than twice what a request about one image takes. [`talc`] is given one page of it after the
//! other: it writes at the end of what it has.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// How many bytes the first room has.
const FIRST_ROOM: usize = 64 * 1024;

/// The page of WebAssembly, the unit in which memory grows.
const PAGE: usize = 64 * 1024;

/// The page that the system brings.
const SYSTEM_PAGE: usize = 4096;

/// More bytes than the allocator keeps beside one allocation, and of its own.
const BESIDE: usize = 1024;

/// Memory that no other code knows of.
static mut ROOM: [MaybeUninit<u8>; FIRST_ROOM] = [MaybeUninit::uninit(); FIRST_ROOM];

/// Small blocks are multiples of this, and begin at one.
const STEP: usize = 8;

/// The largest block that is small.
const LARGEST_SMALL: usize = 512;

/// How many bytes small blocks are cut of at a time.
const SLAB: usize = 2048;

#[global_allocator]
static ALLOCATOR: GuestAllocator = GuestAllocator {
    small: UnsafeCell::new(SmallBlocks {
        free: [core::ptr::null_mut(); LARGEST_SMALL / STEP],
        rest: core::ptr::null_mut(),
        rest_length: 0,
    }),
    large: TalcSyncCell::new_wasm(GuestMemory { room_left: FIRST_ROOM, end: None }),
};

/// Blocks by their size: small ones from lists, others from [`talc`].
struct GuestAllocator {
    small: UnsafeCell<SmallBlocks>,
    large: TalcSyncCell<GuestMemory, WasmBinning>,
}

#[expect(unsafe_code, reason = "an allocator is a global of all threads")]
// SAFETY: a guest has one thread, and nothing here calls what would come back.
unsafe impl Sync for GuestAllocator {}

/// Small blocks that nobody has.
struct SmallBlocks {
    /// Those that were given back, by their number of steps less one. Each begins with the address of the next.
    free: [*mut u8; LARGEST_SMALL / STEP],
    /// What is left of the last slab.
    rest: *mut u8,
    rest_length: usize,
}

/// How many steps a small block has, less one; none for others.
fn class(layout: Layout) -> Option<usize> {
    let is_small = layout.size() <= LARGEST_SMALL && layout.align() <= STEP;
    is_small.then(|| layout.size().saturating_sub(1) / STEP)
}

#[expect(unsafe_code, reason = "an allocator gives and takes memory by its address")]
// SAFETY: a block is cut of memory that talc gave, and is in at most one list, from when it is given back until it is given again.
// What a class holds has at least the size that was asked for.
unsafe impl GlobalAlloc for GuestAllocator {
    // In the place of each call, these would make the module a fifth larger.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout) else {
            // SAFETY: the caller's.
            return unsafe { self.large.alloc(layout) };
        };
        // SAFETY: one thread, and the reference ends with this call.
        let small = unsafe { &mut *self.small.get() };
        let Some(first) = small.free.get_mut(class) else { return core::ptr::null_mut() };
        if !first.is_null() {
            let block = *first;
            // SAFETY: what is in a list begins with the address of the next.
            *first = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        let size = (class + 1) * STEP;
        if small.rest_length < size {
            // What is left is too small for this class, and is a block of another: both are multiples of the step.
            if let Some(last) = (small.rest_length / STEP).checked_sub(1).and_then(|class| small.free.get_mut(class)) {
                // SAFETY: the rest belongs to nobody, and has room for an address.
                unsafe { small.rest.cast::<*mut u8>().write(*last) };
                *last = small.rest;
            }
            // SAFETY: the layout has a size, and the alignment is a power of two.
            let slab = unsafe { self.large.alloc(Layout::from_size_align_unchecked(SLAB, STEP)) };
            (small.rest, small.rest_length) = (slab, if slab.is_null() { 0 } else { SLAB });
            if slab.is_null() {
                return slab;
            }
        }
        let block = small.rest;
        // SAFETY: the rest is that long at least.
        small.rest = unsafe { block.add(size) };
        small.rest_length -= size;
        block
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else {
            // SAFETY: the caller's.
            return unsafe { self.large.dealloc(block, layout) };
        };
        // SAFETY: one thread, and the reference ends with this call.
        let small = unsafe { &mut *self.small.get() };
        if let Some(first) = small.free.get_mut(class) {
            // SAFETY: the block is nobody's now, and has room for an address.
            unsafe { block.cast::<*mut u8>().write(*first) };
            *first = block;
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        match (class(layout), class(new_layout)) {
            (Some(old), Some(new)) if old == new => block,
            // SAFETY: the caller's.
            (None, None) => unsafe { self.large.realloc(block, layout, new_size) },
            _ => {
                // SAFETY: the new block is another one, and both have as many bytes as are copied.
                unsafe {
                    let new = self.alloc(new_layout);
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(block, layout.size().min(new_size));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

/// The most pages that memory grows to. It isn't zero at first, so that it stands among the data that the module brings along.
static MOST_PAGES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Refuses what would make memory grow beyond so many pages. Only whoever can do without is refused: others end the module.
pub(crate) fn limit(pages: usize) {
    MOST_PAGES.store(pages, Ordering::Relaxed);
}

/// The first room, and then pages that the host adds.
#[derive(Debug)]
struct GuestMemory {
    /// How many bytes of the first room are nobody's yet. It isn't zero at first, so that the allocator stands among the data
    /// that the module brings along, before the room: what is zero at first stands behind it.
    room_left: usize,
    /// Where the last memory that was taken ends. A page of the room that is taken after memory has grown begins a heap of its own:
    /// that happens as often as the room has pages, at most.
    end: Option<NonNull<u8>>,
}

impl GuestMemory {
    /// The next bytes of the first room, up to the end of a page: at least so many, if it has them.
    fn take_room(&mut self, needed: usize) -> Option<(*mut u8, usize)> {
        // The bounds of the room, which is no reference to it.
        let start = (&raw mut ROOM).cast::<u8>().wrapping_add(FIRST_ROOM - self.room_left);
        let end = (start.addr().checked_add(needed)?).next_multiple_of(SYSTEM_PAGE);
        let length = (end - start.addr()).min(self.room_left);
        if length < needed {
            return None;
        }
        self.room_left -= length;
        Some((start, length))
    }

    /// New pages of the module's memory, with at least so many bytes, if the host adds them.
    fn grow(needed: usize) -> Option<(*mut u8, usize)> {
        let pages = needed.div_ceil(PAGE);
        let most = MOST_PAGES.load(Ordering::Relaxed);
        if core::arch::wasm32::memory_size::<0>().saturating_add(pages) > most {
            return None;
        }
        let old_pages = core::arch::wasm32::memory_grow::<0>(pages);
        (old_pages != usize::MAX).then(|| ((old_pages * PAGE) as *mut u8, pages * PAGE))
    }
}

#[expect(unsafe_code, reason = "an allocator is given memory by its address")]
// SAFETY: nothing here allocates.
unsafe impl Source for GuestMemory {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let needed = layout.size().saturating_add(layout.align()).saturating_add(BESIDE);
        let source = &mut talc.source;
        let (start, length) = source.take_room(needed).or_else(|| GuestMemory::grow(needed)).ok_or(())?;
        talc.source.end = match talc.source.end.take() {
            // SAFETY: the bytes are nobody's, and begin where the last ones end.
            Some(end) if end.as_ptr() == start => Some(unsafe { talc.extend(end, start.add(length)) }),
            // SAFETY: the bytes are nobody's.
            _ => unsafe { talc.claim(start, length) },
        };
        Ok(())
    }
}
