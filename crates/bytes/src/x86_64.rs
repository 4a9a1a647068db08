//! Accesses by assembler, for x86-64.
//!
//! Up to 128 bytes are loaded into registers as a whole and then stored; two loads or stores may overlap in
//! the middle. More bytes go through a loop of four vectors with aligned stores. The loop goes up, and down
//! if the end of the source is overwritten; the ends, whose stores are not aligned, are loaded before it and
//! stored after it. Copies and fills that exceed the cache use non-temporal stores.
#![expect(unsafe_code, reason = "moves bytes by assembler")]

use std::arch::asm;

/// Bytes read and written by one call from which on stores go around the cache: a large last-level cache of
/// today.
const STREAMED: usize = 32 << 20;

/// The registers and stores of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vectors {
    /// 16 bytes, which every processor has.
    Sse,
    /// 32 bytes, which most have.
    Avx,
}

impl Vectors {
    #[inline(always)]
    fn best() -> Self {
        if std::is_x86_feature_detected!("avx") { Self::Avx } else { Self::Sse }
    }

    /// The fewest bytes that a loop can do: five vectors.
    pub(super) const fn fewest(self) -> usize {
        match self {
            Self::Sse => 80,
            Self::Avx => 160,
        }
    }
}

/// Reads bytes into a buffer that no other thread knows.
///
/// # Safety
///
/// As [`super::read`].
#[inline]
pub(super) unsafe fn read(from: *const u8, into: &mut [u8]) {
    // SAFETY: readable, says the caller; the buffer is writable.
    unsafe { copy(into.as_mut_ptr(), from, into.len()) };
}

/// Writes bytes from a buffer that no other thread changes.
///
/// # Safety
///
/// As [`super::write`].
#[inline]
pub(super) unsafe fn write(to: *mut u8, from: &[u8]) {
    // SAFETY: writable, says the caller; the buffer is readable.
    unsafe { copy(to, from.as_ptr(), from.len()) };
}

/// Loads the first and the last of a range into registers, then stores them.
macro_rules! ends {
    ($to:ident, $from:ident, $bytes:ident, $size:literal, $move:literal, $class:ident, $form:literal) => {
        asm!(
            concat!($move, " {first", $form, "}, [{from}]"),
            concat!($move, " {last", $form, "}, [{from} + {bytes} - ", $size, "]"),
            concat!($move, " [{to}], {first", $form, "}"),
            concat!($move, " [{to} + {bytes} - ", $size, "], {last", $form, "}"),
            to = in(reg) $to,
            from = in(reg) $from,
            bytes = in(reg) $bytes,
            first = out($class) _,
            last = out($class) _,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies bytes; the ranges may overlap.
///
/// # Safety
///
/// As [`super::copy`].
// A function of its own: its instructions for 16 bytes are slow in the midst of others for 32.
#[inline(never)]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    match bytes {
        0 => {}
        1..=3 => {
            // SAFETY: the first byte, the one in the middle and the last, all of the ranges that the caller
            // vouches for; all are loaded before one is stored.
            unsafe {
                asm!(
                    "movzx {first:e}, byte ptr [{from}]",
                    "movzx {middle:e}, byte ptr [{from} + {half}]",
                    "movzx {last:e}, byte ptr [{from} + {bytes} - 1]",
                    "mov [{to}], {first:l}",
                    "mov [{to} + {half}], {middle:l}",
                    "mov [{to} + {bytes} - 1], {last:l}",
                    to = in(reg) to,
                    from = in(reg) from,
                    half = in(reg) bytes / 2,
                    bytes = in(reg) bytes,
                    first = out(reg) _,
                    middle = out(reg) _,
                    last = out(reg) _,
                    options(nostack, preserves_flags),
                );
            }
        }
        // SAFETY: the first 4 and the last 4 bytes, which lie in the ranges that the caller vouches for.
        4..=7 => unsafe { ends!(to, from, bytes, 4, "mov", reg, ":e") },
        // SAFETY: as above, with 8.
        8..=15 => unsafe { ends!(to, from, bytes, 8, "mov", reg, ":r") },
        // SAFETY: as above, with 16.
        16..=32 => unsafe { ends!(to, from, bytes, 16, "movdqu", xmm_reg, "") },
        33..=128 => {
            // SAFETY: the first and the last 32 bytes, or 64 if there are more, which lie in the ranges that
            // the caller vouches for; all are loaded before one is stored. The registers are those of the
            // list.
            unsafe {
                asm!(
                    "movdqu xmm0, [rsi]",
                    "movdqu xmm1, [rsi + 16]",
                    "movdqu xmm2, [rsi + rdx - 32]",
                    "movdqu xmm3, [rsi + rdx - 16]",
                    "cmp rdx, 64",
                    "jbe 2f",
                    "movdqu xmm4, [rsi + 32]",
                    "movdqu xmm5, [rsi + 48]",
                    "movdqu xmm6, [rsi + rdx - 64]",
                    "movdqu xmm7, [rsi + rdx - 48]",
                    "movdqu [rdi + 32], xmm4",
                    "movdqu [rdi + 48], xmm5",
                    "movdqu [rdi + rdx - 64], xmm6",
                    "movdqu [rdi + rdx - 48], xmm7",
                    "2:",
                    "movdqu [rdi], xmm0",
                    "movdqu [rdi + 16], xmm1",
                    "movdqu [rdi + rdx - 32], xmm2",
                    "movdqu [rdi + rdx - 16], xmm3",
                    in("rdi") to,
                    in("rsi") from,
                    in("rdx") bytes,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    options(nostack),
                );
            }
        }
        _ => {
            let vectors = if bytes < Vectors::Avx.fewest() { Vectors::Sse } else { Vectors::best() };
            // SAFETY: the caller's promise; `fewest` bytes or more, and vectors that the processor has.
            unsafe { copy_many(to, from, bytes, vectors, STREAMED) };
        }
    }
}

/// Copies many bytes, with stores around the cache if `streamed` or more are read and written.
///
/// # Safety
///
/// As [`super::copy`]; at least [`Vectors::fewest`] bytes, and the processor has those vectors.
pub(super) unsafe fn copy_many(to: *mut u8, from: *const u8, bytes: usize, vectors: Vectors, streamed: usize) {
    let [ahead, behind] = [to.addr().wrapping_sub(from.addr()), from.addr().wrapping_sub(to.addr())];
    let goes_down = ahead < bytes;
    let is_streamed = bytes >= streamed / 2 && behind >= bytes;
    // SAFETY: the caller's promise.
    unsafe {
        match (vectors, goes_down, is_streamed) {
            (Vectors::Sse, true, _) => copy_down_by_16(to, from, bytes),
            (Vectors::Sse, false, false) => copy_up_by_16(to, from, bytes),
            (Vectors::Sse, false, true) => stream_up_by_16(to, from, bytes),
            (Vectors::Avx, true, _) => copy_down_by_32(to, from, bytes),
            (Vectors::Avx, false, false) => copy_up_by_32(to, from, bytes),
            (Vectors::Avx, false, true) => stream_up_by_32(to, from, bytes),
        }
    }
}

/// Assembler with the target in `rdi`, the source in `rsi`, the size in `rdx` and all other registers of C
/// calls free.
macro_rules! moves {
    ($to:ident, $from:ident, $bytes:ident; $($line:expr,)*) => {
        asm!(
            $($line,)*
            inout("rdi") $to => _,
            inout("rsi") $from => _,
            in("rdx") $bytes,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// A copy that goes up, by vectors of `$size` bytes in registers `$v`, with `$store` for the aligned stores.
macro_rules! copy_up {
    ($name:ident, $v:literal, $size:literal, $any:literal, $store:literal, $ahead:expr, $end:expr) => {
        /// # Safety
        ///
        /// As [`copy_many`], and the target does not start in the source.
        unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
            // SAFETY: the caller's promise. Before the loop, the first vector and the last four are loaded.
            // The loop starts at the first aligned byte behind the target's start and ends where the last
            // four vectors cover the rest; in each turn it loads before it stores, and stores no byte of the
            // source that is still to be loaded, because the source is not ahead of the target.
            unsafe {
                moves!(to, from, bytes;
                    concat!($any, " ", $v, "4, [rsi]"),
                    concat!($any, " ", $v, "5, [rsi + rdx - 4*", $size, "]"),
                    concat!($any, " ", $v, "6, [rsi + rdx - 3*", $size, "]"),
                    concat!($any, " ", $v, "7, [rsi + rdx - 2*", $size, "]"),
                    concat!($any, " ", $v, "8, [rsi + rdx - 1*", $size, "]"),
                    "mov rcx, rdi",
                    concat!("lea rax, [rdi + rdx - 4*", $size, "]"),
                    "sub rsi, rdi",
                    concat!("and rdi, -", $size),
                    concat!("add rdi, ", $size),
                    ".p2align 5",
                    "2:",
                    $ahead,
                    concat!($any, " ", $v, "0, [rsi + rdi]"),
                    concat!($any, " ", $v, "1, [rsi + rdi + 1*", $size, "]"),
                    concat!($any, " ", $v, "2, [rsi + rdi + 2*", $size, "]"),
                    concat!($any, " ", $v, "3, [rsi + rdi + 3*", $size, "]"),
                    concat!($store, " [rdi], ", $v, "0"),
                    concat!($store, " [rdi + 1*", $size, "], ", $v, "1"),
                    concat!($store, " [rdi + 2*", $size, "], ", $v, "2"),
                    concat!($store, " [rdi + 3*", $size, "], ", $v, "3"),
                    concat!("add rdi, 4*", $size),
                    "cmp rdi, rax",
                    "jb 2b",
                    concat!($any, " [rax], ", $v, "5"),
                    concat!($any, " [rax + 1*", $size, "], ", $v, "6"),
                    concat!($any, " [rax + 2*", $size, "], ", $v, "7"),
                    concat!($any, " [rax + 3*", $size, "], ", $v, "8"),
                    concat!($any, " [rcx], ", $v, "4"),
                    $end,
                );
            }
        }
    };
}

/// The line of the source that a turn of a streaming loop asks for.
macro_rules! ahead {
    () => {
        "prefetcht0 [rsi + rdi + 1024]\nprefetcht0 [rsi + rdi + 1088]"
    };
}

copy_up!(copy_up_by_16, "xmm", 16, "movdqu", "movdqa", "", "");
copy_up!(stream_up_by_16, "xmm", 16, "movdqu", "movntdq", ahead!(), "sfence");
copy_up!(copy_up_by_32, "ymm", 32, "vmovdqu", "vmovdqa", "", "vzeroupper");
copy_up!(stream_up_by_32, "ymm", 32, "vmovdqu", "vmovntdq", ahead!(), "sfence\nvzeroupper");

/// A copy that goes down, by vectors of `$size` bytes in registers `$v`, with `$store` for the aligned
/// stores.
macro_rules! copy_down {
    ($name:ident, $v:literal, $size:literal, $any:literal, $store:literal, $end:literal) => {
        /// # Safety
        ///
        /// As [`copy_many`].
        unsafe fn $name(to: *mut u8, from: *const u8, bytes: usize) {
            // SAFETY: the caller's promise. Before the loop, the last vector and the first four are loaded.
            // The loop starts at the last aligned byte of the target and ends where the first four vectors
            // cover the rest; in each turn it loads before it stores, and stores no byte of the source that
            // is still to be loaded, because the source is below the target.
            unsafe {
                moves!(to, from, bytes;
                    concat!($any, " ", $v, "4, [rsi + rdx - ", $size, "]"),
                    concat!($any, " ", $v, "5, [rsi]"),
                    concat!($any, " ", $v, "6, [rsi + 1*", $size, "]"),
                    concat!($any, " ", $v, "7, [rsi + 2*", $size, "]"),
                    concat!($any, " ", $v, "8, [rsi + 3*", $size, "]"),
                    "mov rax, rdi",
                    concat!("lea rcx, [rdi + 4*", $size, "]"),
                    "sub rsi, rdi",
                    "lea rdi, [rdi + rdx - 1]",
                    concat!("and rdi, -", $size),
                    ".p2align 5",
                    "2:",
                    concat!($any, " ", $v, "0, [rsi + rdi - 1*", $size, "]"),
                    concat!($any, " ", $v, "1, [rsi + rdi - 2*", $size, "]"),
                    concat!($any, " ", $v, "2, [rsi + rdi - 3*", $size, "]"),
                    concat!($any, " ", $v, "3, [rsi + rdi - 4*", $size, "]"),
                    concat!($store, " [rdi - 1*", $size, "], ", $v, "0"),
                    concat!($store, " [rdi - 2*", $size, "], ", $v, "1"),
                    concat!($store, " [rdi - 3*", $size, "], ", $v, "2"),
                    concat!($store, " [rdi - 4*", $size, "], ", $v, "3"),
                    concat!("sub rdi, 4*", $size),
                    "cmp rdi, rcx",
                    "ja 2b",
                    concat!($any, " [rax], ", $v, "5"),
                    concat!($any, " [rax + 1*", $size, "], ", $v, "6"),
                    concat!($any, " [rax + 2*", $size, "], ", $v, "7"),
                    concat!($any, " [rax + 3*", $size, "], ", $v, "8"),
                    concat!($any, " [rax + rdx - ", $size, "], ", $v, "4"),
                    $end,
                );
            }
        }
    };
}

copy_down!(copy_down_by_16, "xmm", 16, "movdqu", "movdqa", "");
copy_down!(copy_down_by_32, "ymm", 32, "vmovdqu", "vmovdqa", "vzeroupper");

/// Writes eight bytes again and again, until `bytes` are written.
///
/// # Safety
///
/// As [`super::fill`]: `bytes` and `to` are multiples of the element of which the eight bytes are made.
pub(super) unsafe fn fill(to: *mut u8, pattern: [u8; 8], bytes: usize) {
    let vectors = if bytes < Vectors::Avx.fewest() { Vectors::Sse } else { Vectors::best() };
    if bytes >= vectors.fewest() {
        // SAFETY: the caller's promise; `fewest` bytes or more, and vectors that the processor has.
        unsafe { fill_many(to, pattern, bytes, vectors, STREAMED) };
        return;
    }
    let piece = [pattern; Vectors::Sse.fewest() / 8];
    // SAFETY: fewer bytes than the piece has, and writable, says the caller.
    unsafe { copy(to, piece.as_flattened().as_ptr(), bytes) };
}

/// Fills many bytes, with stores around the cache if `streamed` or more are written.
///
/// # Safety
///
/// As [`fill`]; at least [`Vectors::fewest`] bytes, and the processor has those vectors.
pub(super) unsafe fn fill_many(to: *mut u8, pattern: [u8; 8], bytes: usize, vectors: Vectors, streamed: usize) {
    let pattern = u64::from_le_bytes(pattern);
    // SAFETY: the caller's promise.
    unsafe {
        match (vectors, bytes >= streamed) {
            (Vectors::Sse, false) => fill_by_16(to, pattern, bytes),
            (Vectors::Sse, true) => stream_fill_by_16(to, pattern, bytes),
            (Vectors::Avx, false) => fill_by_32(to, pattern, bytes),
            (Vectors::Avx, true) => stream_fill_by_32(to, pattern, bytes),
        }
    }
}

/// A fill by vectors of `$size` bytes in register `$v`, with `$store` for the aligned stores.
macro_rules! fill {
    ($name:ident, $v:literal, $size:literal, $any:literal, $store:literal, $spread:literal, $end:literal) => {
        /// # Safety
        ///
        /// As [`fill_many`].
        unsafe fn $name(to: *mut u8, pattern: u64, bytes: usize) {
            // SAFETY: the caller's promise. The first vector is stored before the loop, the last four after
            // it. The loop starts at the first aligned byte behind the start and ends where the last four
            // cover the rest. All stores are whole elements apart, because the start, the size and the
            // vectors are multiples of an element.
            unsafe {
                moves!(to, pattern, bytes;
                    $spread,
                    concat!($any, " [rdi], ", $v),
                    concat!("lea rax, [rdi + rdx - 4*", $size, "]"),
                    concat!("and rdi, -", $size),
                    concat!("add rdi, ", $size),
                    ".p2align 5",
                    "2:",
                    concat!($store, " [rdi], ", $v),
                    concat!($store, " [rdi + 1*", $size, "], ", $v),
                    concat!($store, " [rdi + 2*", $size, "], ", $v),
                    concat!($store, " [rdi + 3*", $size, "], ", $v),
                    concat!("add rdi, 4*", $size),
                    "cmp rdi, rax",
                    "jb 2b",
                    concat!($any, " [rax], ", $v),
                    concat!($any, " [rax + 1*", $size, "], ", $v),
                    concat!($any, " [rax + 2*", $size, "], ", $v),
                    concat!($any, " [rax + 3*", $size, "], ", $v),
                    $end,
                );
            }
        }
    };
}

fill!(fill_by_16, "xmm0", 16, "movdqu", "movdqa", "movq xmm0, rsi\npunpcklqdq xmm0, xmm0", "");
fill!(stream_fill_by_16, "xmm0", 16, "movdqu", "movntdq", "movq xmm0, rsi\npunpcklqdq xmm0, xmm0", "sfence");
fill!(
    fill_by_32,
    "ymm0",
    32,
    "vmovdqu",
    "vmovdqa",
    "vmovq xmm0, rsi\nvpunpcklqdq xmm0, xmm0, xmm0\nvinsertf128 ymm0, ymm0, xmm0, 1",
    "vzeroupper"
);
fill!(
    stream_fill_by_32,
    "ymm0",
    32,
    "vmovdqu",
    "vmovntdq",
    "vmovq xmm0, rsi\nvpunpcklqdq xmm0, xmm0, xmm0\nvinsertf128 ymm0, ymm0, xmm0, 1",
    "sfence\nvzeroupper"
);
