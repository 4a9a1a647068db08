//! PTX with random changes, loaded and linked: it is refused or compiled, and crashes nothing.

use std::time::{Duration, Instant};

use warploom::program::{Linker, ObjectCode};
use warploom::{Error, Library};
use warploom_testkit::driver_tests;

const TEXTS: [&str; 3] = [
    include_str!("../../examples/scale.ptx"),
    include_str!("../../examples/halve.ptx"),
    ".version 8.3
     .target sm_75
     .address_size 64
     .const .align 4 .f32 table[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
     .shared .align 8 .b8 scratch[256];
     .func (.param .b32 r) next(.param .b32 a)
     { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
     .visible .entry k(.param .u64 p, .param .u32 n)
     {
         .reg .pred %p<2>;
         .reg .b32 %r<5>;
         .reg .b64 %rd<4>;
         ld.param.u64 %rd1, [p];
         ld.param.u32 %r3, [n];
         cvta.to.global.u64 %rd2, %rd1;
         mov.u32 %r4, %tid.x;
         setp.ge.u32 %p1, %r4, %r3;
         @%p1 bra $done;
         mul.wide.u32 %rd3, %r4, 4;
         add.s64 %rd2, %rd2, %rd3;
         ld.global.u32 %r1, [%rd2];
         { .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), next, (a); ld.param.b32 %r2, [r]; }
         st.global.u32 [%rd2], %r2;
         bar.sync 0;
     $done:
         ret;
     }",
];

/// Letters that mean something in PTX, and some that do not.
const LETTERS: &[u8] = b"\t\n %$.,;:{}[]()<>@!+-*/\"'_0189abfrsux\x01\x7f";

/// As many texts, or as many as there is time for.
const ROUNDS: usize = 3000;
const TIME: Duration = Duration::from_secs(60);

/// Xorshift, so that a run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap_or(0)
    }

    /// Bytes of the text, at most `len`.
    fn part(&mut self, text: &[u8], len: usize) -> std::ops::Range<usize> {
        let start = self.below(text.len());
        start..(start + 1 + self.below(len)).min(text.len())
    }

    /// A text with one to four changes: bytes replaced, left out, doubled, moved here from elsewhere, or cut
    /// off.
    fn mutated(&mut self) -> String {
        let mut text = TEXTS[self.below(TEXTS.len())].as_bytes().to_vec();
        for _ in 0..=self.below(4) {
            if text.is_empty() {
                break;
            }
            let place = self.part(&text, 12);
            match self.below(8) {
                0..3 => text[place.start] = LETTERS[self.below(LETTERS.len())],
                3 => drop(text.drain(place)),
                4 => drop(text.splice(place.start..place.start, text[place].to_vec())),
                5 | 6 => {
                    let other = self.part(&text, 12);
                    let moved = text[other].to_vec();
                    drop(text.splice(place, moved));
                }
                _ if self.below(4) == 0 => text.truncate(place.start),
                _ => text[place.start] = text[place.start].wrapping_add(1).clamp(1, 0x7f),
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

driver_tests! {
    /// Binaries are `unsafe` to bring in, since a changed byte crashes a driver; texts are not.
    fn mutated_ptx_is_refused_or_compiled_and_crashes_nothing(driver) {
        let context = driver.device(0)?.context()?;
        let (mut random, begin, mut compiled, mut refused) = (Random(0x9e37_79b9_7f4a_7c15), Instant::now(), 0, 0);
        for round in 0..ROUNDS {
            if begin.elapsed() > TIME {
                break;
            }
            let text = random.mutated();
            let outcome = if round % 4 == 0 {
                let linker = Linker::new("mutated", context.device().compute_capability()?);
                ObjectCode::from_ptx("k", &text).and_then(|code| linker.input(code).link_by_driver(&context).map(drop))
            } else {
                Library::from_ptx(driver, &text).and_then(|library| library.load_in(&context))
            };
            match outcome {
                Ok(()) => compiled += 1,
                Err(Error::Library(_) | Error::Link(_) | Error::Driver(_)) => refused += 1,
                Err(error) => panic!("{error:?} for\n{text}"),
            }
        }
        assert!(compiled > 0 && refused > compiled, "{compiled} compiled, {refused} refused");
        // The driver is as before.
        for text in TEXTS {
            Library::from_ptx(driver, text)?.load_in(&context)?;
        }
        context.synchronize()?;
    }
}
