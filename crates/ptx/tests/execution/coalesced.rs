//! The fast path and the lane-by-lane path agree: the same bytes, registers and traps, for the same lane.
#![expect(unsafe_code, reason = "hands out memory of its own")]

use std::fmt::Write;
use std::sync::atomic::{AtomicU8, Ordering};

use warploom_ptx::{Access, Direct, Fault, Grid, Host, Launch, Memory, Program, Step};

const BASE: u64 = 0x40_0000;
const SIZE: u64 = 8192;

/// Three ranges side by side, the last of which is for reading, and a hole behind them.
struct Pieces<const DIRECT: bool> {
    bytes: Box<[AtomicU8]>,
}

const CUTS: [u64; 4] = [BASE, BASE + 1000, BASE + 3072, BASE + SIZE];

impl<const DIRECT: bool> Pieces<DIRECT> {
    fn new() -> Self {
        Pieces { bytes: (0..SIZE).map(|at| AtomicU8::new((at * 7 + at / 256) as u8)).collect() }
    }

    fn at(&self, address: u64, writes: bool) -> Result<&AtomicU8, Fault> {
        let inside = address.checked_sub(BASE).filter(|_| !writes || address < CUTS[2]);
        inside.and_then(|at| self.bytes.get(at as usize)).ok_or(Fault { address })
    }

    fn contents(&self) -> Vec<u8> {
        self.bytes.iter().map(|byte| byte.load(Ordering::Relaxed)).collect()
    }
}

impl<const DIRECT: bool> Memory for Pieces<DIRECT> {
    fn load(&self, _: &Access, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        for (byte, address) in into.iter_mut().zip(address..) {
            *byte = self.at(address, false)?.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn store(&self, _: &Access, address: u64, from: &[u8]) -> Result<(), Fault> {
        for (byte, address) in from.iter().zip(address..) {
            self.at(address, true)?.store(*byte, Ordering::Relaxed);
        }
        Ok(())
    }

    fn update(&self, _: &Access, _: u64, _: usize, _: &mut dyn FnMut(u64) -> u64) -> Result<u64, Fault> {
        Err(Fault { address: 0 })
    }

    fn direct(&self, address: u64) -> Option<Direct> {
        let piece = CUTS.windows(2).find(|piece| (piece[0]..piece[1]).contains(&address)).filter(|_| DIRECT)?;
        let host = self.bytes[(piece[0] - BASE) as usize..].as_ptr().cast_mut().cast();
        // SAFETY: as many bytes as are left of this memory, which may change; everything runs on one thread.
        Some(unsafe { Direct::new(piece[0]..piece[1], host, piece[0] != CUTS[2]) })
    }
}

impl<const DIRECT: bool> Host for Pieces<DIRECT> {
    const WATCHES_SHARED: bool = !DIRECT;
}

/// Accesses: the type of an element, its bytes, the number of elements, and the class of register that holds
/// one.
const KINDS: [(&str, u64, u64, &str); 9] = [
    ("u8", 1, 1, "w"),
    ("s8", 1, 1, "l"),
    ("s16", 2, 1, "w"),
    ("u32", 4, 1, "w"),
    ("s32", 4, 1, "l"),
    ("b64", 8, 1, "l"),
    ("b32", 4, 2, "w"),
    ("f32", 4, 4, "f"),
    ("b64", 8, 2, "l"),
];

/// A kernel that reads or writes once, at `base + lane * stride`, for lanes of the mask; what was read goes
/// to `out`.
fn text(space: &str, (scalar, _, count, class): (&str, u64, u64, &str), writes: bool) -> String {
    let names: Vec<String> = (0..count).map(|element| format!("%{class}{element}")).collect();
    let (vector, list) = match count {
        1 => (String::new(), names[0].clone()),
        _ => (format!(".v{count}"), format!("{{{}}}", names.join(", "))),
    };
    let mut text = ".version 8.7 .target sm_90 .address_size 64
        .visible .entry access(.param .u64 base, .param .u64 stride, .param .u32 mask, .param .u64 out) {
        .shared .align 16 .b8 part[1024];
        .reg .pred %p; .reg .b32 %t, %m, %s, %w<4>; .reg .f32 %f<4>; .reg .b64 %a, %b, %o, %l<4>;
        mov.u32 %t, %tid.x; ld.param.u32 %m, [mask]; shr.u32 %m, %m, %t; and.b32 %m, %m, 1; setp.eq.u32 %p, %m, 1;
        ld.param.u64 %a, [base]; ld.param.u64 %b, [stride]; cvt.u64.u32 %o, %t; mad.lo.u64 %a, %b, %o, %a;
        ld.param.u64 %b, [out]; mad.lo.u64 %b, %o, 32, %b; cvt.u32.u64 %s, %a;\n"
        .to_owned();
    // What lies in shared memory beforehand: each lane writes 32 bytes of it.
    for word in 0..8 {
        let fill = "mad.lo.u32 %w0, %t, 77777, 12345; mad.lo.u32 %w1, %t, 32, ";
        let _ = writeln!(text, "{fill}{}; add.u32 %w0, %w0, {word}; st.shared.u32 [%w1], %w0;", word * 4);
    }
    for (element, name) in names.iter().enumerate() {
        let _ = match class {
            "w" => writeln!(text, "mad.lo.u32 {name}, %t, 1000003, {element};"),
            "l" => writeln!(text, "mad.lo.u64 {name}, %o, 1000000007000003, {element};"),
            _ => writeln!(text, "cvt.rn.f32.u32 {name}, %t; add.f32 {name}, {name}, 0f3F00000{element};"),
        };
    }
    let address = if space == ".shared" { "%s" } else { "%a" };
    let _ = match writes {
        true => writeln!(text, "@%p st{space}{vector}.{scalar} [{address}], {list};"),
        false => writeln!(text, "@%p ld{space}{vector}.{scalar} {list}, [{address}];"),
    };
    if !writes {
        for (element, name) in names.iter().enumerate() {
            let bits = if class == "l" { 64 } else { 32 };
            let _ = writeln!(text, "st.global.b{bits} [%b+{}], {name};", element * 8);
        }
    } else if space == ".shared" {
        for word in 0..8 {
            let _ = writeln!(text, "mad.lo.u32 %w1, %t, 32, {}; ld.shared.u32 %w0, [%w1];", word * 4);
            let _ = writeln!(text, "st.global.b32 [%b+{}], %w0;", word * 4);
        }
    }
    text.push_str("ret; }");
    text
}

fn outcome<const DIRECT: bool>(program: &Program, arguments: &[u8]) -> (String, Vec<u8>) {
    let memory = Pieces::<DIRECT>::new();
    let kernel = program.kernel("access").expect("the text has it");
    let launch = Launch { block: [32, 1, 1], arguments, ..Launch::default() };
    let step = Grid::new(kernel, launch, &memory).expect("it fits").step(10_000);
    assert!(!matches!(step, Step::Running));
    (format!("{step:?}"), memory.contents())
}

fn check(space: &str, bases: &[u64], writes: bool) {
    let mut trapped = 0;
    for kind in KINDS {
        let program = Program::from_text(&text(space, kind, writes)).expect("it is valid");
        let size = kind.1 * kind.2;
        let strides = [0, size, size.wrapping_neg(), size + 1, 48];
        for (base, stride) in bases.iter().flat_map(|base| strides.map(|stride| (*base, stride))) {
            for mask in [u32::MAX, 0, 0x00ff_ff00, 0x8000_0001, 0x5555_5557] {
                // Results go to the first piece, far from the rest of what is accessed.
                let mut arguments = [base.to_le_bytes(), stride.to_le_bytes()].concat();
                arguments.extend(u64::from(mask).to_le_bytes());
                arguments.extend((BASE + 1024).to_le_bytes());
                let (quick, slow) = (outcome::<true>(&program, &arguments), outcome::<false>(&program, &arguments));
                trapped += usize::from(slow.0 != "Done");
                assert!(quick == slow, "{space} {kind:?} {base:#x}+{stride}, {mask:#x}: {} {}", quick.0, slow.0);
            }
        }
    }
    assert!(trapped > 20, "{trapped} traps");
}

/// Inside, across the borders of pieces, below the first and behind the last, and misaligned.
const PLACES: [u64; 6] = [BASE + 2048, BASE + 960, BASE - 64, BASE + 3000, BASE + SIZE - 64, BASE + 2049];

#[test]
fn global_memory_is_read_the_same_lane_by_lane_and_at_once() {
    check(".global", &PLACES, false);
}

#[test]
fn global_memory_is_written_the_same_lane_by_lane_and_at_once() {
    check(".global", &PLACES, true);
}

#[test]
fn generic_addresses_lead_to_the_same_lane_by_lane_and_at_once() {
    check("", &[BASE + 2048, BASE + SIZE - 64, 0x1_0000_0000_0000 + 64, 0x1_0000_0000_0000 - 64], false);
}

#[test]
fn volatile_accesses_do_the_same() {
    check(".volatile.global", &PLACES[..4], false);
    check(".volatile.global", &PLACES[..4], true);
}

#[test]
fn shared_memory_is_read_the_same_lane_by_lane_and_at_once() {
    check(".shared", &[64, 1024 - 128, 1024 - 64, 2, u64::MAX], false);
}

#[test]
fn shared_memory_is_written_the_same_lane_by_lane_and_at_once() {
    check(".shared", &[64, 1024 - 128, 1024 - 64, 2, u64::MAX], true);
}
