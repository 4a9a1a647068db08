//! Registers of 128 bits, and atomic operations on them.

use std::ffi::CString;
use std::ptr::null_mut;

use warploom_testkit::{Primary, call, driver_tests};

use crate::arguments;
use crate::support::{Module, download, launch, upload};

/// `count`: every thread adds one to both longs of a pair, which no thread sees with longs that differ.
/// `forms`: extended, packed and exchanged values.
const TEXT: &str = ".version 8.4
.target sm_90
.address_size 64

.visible .entry count(.param .u64 into)
{
    .reg .b128 old, seen, new; .reg .b64 place, low, high, bad, before; .reg .pred wrong, again; .reg .b32 rounds;
    ld.param.u64 place, [into];
    mov.u64 bad, 0;
    mov.u32 rounds, 0;
round:
    ld.relaxed.gpu.global.b128 old, [place];
try:
    mov.b128 {low, high}, old;
    setp.ne.u64 wrong, low, high;
    @wrong add.u64 bad, bad, 1;
    add.u64 low, low, 1;
    add.u64 high, high, 1;
    mov.b128 new, {low, high};
    atom.relaxed.gpu.global.cas.b128 seen, [place], old, new;
    mov.b128 {before, high}, seen;
    mov.b128 old, seen;
    sub.u64 low, low, 1;
    setp.ne.u64 again, low, before;
    @again bra try;
    add.u32 rounds, rounds, 1;
    setp.lt.u32 again, rounds, 4;
    @again bra round;
    setp.eq.u64 again, bad, 0;
    @!again st.global.u64 [place+16], bad;
    ret;
}

.visible .entry forms(.param .u64 into)
{
    .reg .b128 a, b; .reg .b64 place, low, high; .reg .b32 x, y;
    ld.param.u64 place, [into];
    ld.global.s32 a, [place];
    st.global.b128 [place+16], a;
    ld.global.s64 a, [place];
    st.global.b128 [place+80], a;
    ld.global.u32 a, [place];
    st.global.b128 [place+32], a;
    mov.b128 {low, high}, a;
    mov.b128 b, {high, low};
    atom.global.exch.b128 a, [place+32], b;
    mov.b128 {x, _, _, y}, a;
    st.global.v2.u32 [place+48], {x, y};
    mov.b128 a, -1;
    st.global.b128 [place+64], a;
    ret;
}
";

fn text() -> CString {
    CString::new(TEXT).expect("a text without zeros")
}

driver_tests! {
    fn counters_of_16_bytes_are_swapped_whole(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &text())?;
        let place = upload(driver, &[0; 6])?;
        launch(driver, module.function("count")?, (4, 32), null_mut(), &mut arguments!(place))?;
        assert_eq!(download(driver, place, 6)?, [512, 0, 512, 0, 0, 0]);
        call!(driver.cuMemFree_v2(place))?;
    }

    fn narrow_values_are_extended_to_128_bits(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &text())?;
        let mut words = [0; 24];
        words[..2].copy_from_slice(&[0x8000_0007, 0x8000_0001]);
        let place = upload(driver, &words)?;
        launch(driver, module.function("forms")?, (1, 1), null_mut(), &mut arguments!(place))?;
        let found = download(driver, place, 24)?;
        assert_eq!(found[4..8], [0x8000_0007, u32::MAX, 0, 0]);
        assert_eq!(found[8..12], [0, 0, 0x8000_0007, 0]);
        assert_eq!(found[12..14], [0x8000_0007, 0]);
        assert_eq!(found[16..20], [u32::MAX, u32::MAX, 0, 0]);
        assert_eq!(found[20..], [0x8000_0007, 0x8000_0001, u32::MAX, u32::MAX]);
        call!(driver.cuMemFree_v2(place))?;
    }
}
