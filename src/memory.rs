//! The guest's memory, as cheap as an instance that answers one request can have it.
//!
//! A quarter of what a request with rules runs is memory asked for and given back; [`talc`] takes less for it than the
//! allocator of the C library. Each page of 4 KiB that an instance touches for the first time costs as much as some ten
//! thousand instructions, and growing the memory more. So the first room is part of the module's own data, beside what is
//! written at every request anyway, and more than twice what a request about one image takes.

use core::alloc::Layout;
use core::mem::MaybeUninit;
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// How many bytes the first room has.
const FIRST_ROOM: usize = 48 * 1024;

/// The page of WebAssembly, the unit in which memory grows.
const PAGE: usize = 64 * 1024;

/// More bytes than the allocator keeps beside one allocation.
const BESIDE: usize = 256;

/// Memory that no other code knows of.
static mut ROOM: [MaybeUninit<u8>; FIRST_ROOM] = [MaybeUninit::uninit(); FIRST_ROOM];

#[global_allocator]
static ALLOCATOR: TalcSyncCell<GuestMemory, WasmBinning> =
    TalcSyncCell::new_wasm(GuestMemory { is_room_taken: false, end: None });

/// The first room, and then pages that the host adds.
#[derive(Debug)]
struct GuestMemory {
    is_room_taken: bool,
    /// Where the last pages that were added end.
    end: Option<core::ptr::NonNull<u8>>,
}

#[expect(unsafe_code, reason = "an allocator is given memory by its address")]
// SAFETY: nothing here allocates.
unsafe impl Source for GuestMemory {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        if !talc.source.is_room_taken {
            talc.source.is_room_taken = true;
            // SAFETY: the room is named nowhere else, and lives as long as the module.
            unsafe { talc.claim((&raw mut ROOM).cast(), FIRST_ROOM) };
            return Ok(());
        }
        let needed = layout.size().saturating_add(layout.align()).saturating_add(BESIDE);
        let pages = needed.div_ceil(PAGE);
        let old_pages = core::arch::wasm32::memory_grow::<0>(pages);
        if old_pages == usize::MAX {
            return Err(());
        }
        let start = (old_pages * PAGE) as *mut u8;
        talc.source.end = match talc.source.end.take() {
            // SAFETY: the pages are new, and begin where the last ones end.
            Some(end) if end.as_ptr() == start => Some(unsafe { talc.extend(end, start.add(pages * PAGE)) }),
            // SAFETY: the pages are new.
            _ => unsafe { talc.claim(start, pages * PAGE) },
        };
        Ok(())
    }
}
