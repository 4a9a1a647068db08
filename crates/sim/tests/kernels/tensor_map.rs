//! Fields of tensor maps, replaced by kernels.

use std::ffi::CString;

use warploom_testkit::driver::Driver;
use warploom_testkit::{Primary, TestResult, call, driver_tests};

use crate::arguments;
use crate::support::{Module, download, launch, upload};

/// Words of a tensor map.
const WORDS: usize = 32;

/// A field with a value, and the bytes that change where all were zeros, and where all were ones.
struct Case {
    name: &'static str,
    instruction: String,
    expected: [Vec<(usize, u8)>; 2],
}

/// The cases that an H200 was asked.
fn cases() -> Vec<Case> {
    let lines = include_str!("tensor_map.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| case(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

fn case(line: &'static str) -> Option<Case> {
    let mut parts = line.split("; ");
    let name = parts.next()?;
    let [field, dimension, value] = name.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let changed = |part: &str| -> Option<Vec<(usize, u8)>> {
        let changes = part.split(' ').filter(|change| *change != "-");
        changes
            .map(|change| {
                let (at, byte) = change.split_once(':')?;
                Some((at.parse().ok()?, u8::from_str_radix(byte, 16).ok()?))
            })
            .collect()
    };
    let expected = [changed(parts.next()?)?, changed(parts.next()?)?];
    let scalar = if matches!(field, "global_address" | "global_stride") { "b64" } else { "b32" };
    let register = if scalar == "b64" { "%rd2" } else { "%r1" };
    let replace = format!("tensormap.replace.tile.{field}.global.b1024.{scalar} [%rd1]");
    let instruction = match field {
        "global_address" | "rank" => format!("mov.{scalar} {register}, {value}; {replace}, {register};"),
        "elemtype" | "interleave_layout" | "swizzle_mode" | "fill_mode" => format!("{replace}, {value};"),
        _ => format!("mov.{scalar} {register}, {value}; {replace}, {dimension}, {register};"),
    };
    Some(Case { name, instruction, expected })
}

fn text(cases: &[Case]) -> CString {
    let kernels = cases.iter().enumerate().map(|(number, case)| {
        format!(
            ".visible .entry k{number}(.param .u64 map) {{ .reg .b32 %r<2>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [map];\n\
             {} ret; }}\n",
            case.instruction
        )
    });
    let text = format!(".version 8.3\n.target sm_90a\n.address_size 64\n{}", kernels.collect::<String>());
    CString::new(text).expect("a text without zeros")
}

/// The bytes of a map after a kernel, which were all `fill` before.
fn replaced(driver: &Driver, module: &Module, number: usize, fill: u32) -> TestResult<Vec<u8>> {
    let map = upload(driver, &[fill; WORDS])?;
    launch(driver, module.function(&format!("k{number}"))?, (1, 1), std::ptr::null_mut(), &mut arguments!(map))?;
    let bytes = download(driver, map, WORDS)?.iter().flat_map(|word| word.to_le_bytes()).collect();
    call!(driver.cuMemFree_v2(map))?;
    Ok(bytes)
}

driver_tests! {
    fn fields_of_a_tensor_map_are_replaced_bit_by_bit(driver) {
        let _primary = Primary::of(driver, 0)?;
        let cases = cases();
        assert!(cases.len() > 100);
        let module = Module::load(driver, &text(&cases))?;
        for (number, case) in cases.iter().enumerate() {
            for (fill, expected) in [0, u32::MAX].into_iter().zip(&case.expected) {
                let found = replaced(driver, &module, number, fill)?;
                let changed: Vec<(usize, u8)> =
                    found.into_iter().enumerate().filter(|(_, byte)| *byte != fill as u8).collect();
                assert_eq!(changed, *expected, "{} over {fill:#x}", case.name);
            }
        }
    }
}
