//! Comparing bytes: by words, where the C library that the target comes with goes byte by byte. Names, keys and digests are
//! compared at every step of a request.

/// How many bytes are compared together.
const WORD: usize = size_of::<u64>();

/// C's `memcmp`, which the compiler calls by its name: less than zero, zero or more, as the first bytes that differ.
///
/// # Safety
/// Both have as many bytes.
#[expect(unsafe_code, reason = "the compiler finds it by its name, and gives addresses")]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, length: usize) -> i32 {
    let mut at = 0;
    while at + WORD <= length {
        // SAFETY: both have a word there.
        let (word, other_word) =
            unsafe { (one.add(at).cast::<u64>().read_unaligned(), other.add(at).cast::<u64>().read_unaligned()) };
        let difference = word ^ other_word;
        if difference != 0 {
            // The first byte is the lowest.
            let first = difference.trailing_zeros() & !7;
            let byte = |word: u64| ((word >> first) & 0xff) as i32;
            return byte(word) - byte(other_word);
        }
        at += WORD;
    }
    while at < length {
        // SAFETY: both have a byte there.
        let (byte, other_byte) = unsafe { (one.add(at).read(), other.add(at).read()) };
        if byte != other_byte {
            return i32::from(byte) - i32::from(other_byte);
        }
        at += 1;
    }
    0
}
