//! Accesses out of bounds, misaligned, to freed or to uninitialised memory.

use warploom_sim::{FindingKind, Mode};
use warploom_testkit::driver::Driver;
use warploom_testkit::{TestResult, call};

use super::{fault, line, run, short, twins, words};
use crate::support::upload;

#[test]
fn global_memory_is_read_and_written_outside() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 65)?, words(driver, 64)?, 64]);
    for (kernel, access) in [("planted_write_outside", "st.global"), ("planted_read_outside", "ld.global")] {
        let found = match access {
            "st.global" => twins(kernel, (1, 96, 0), arguments)?,
            _ => twins(kernel, (1, 96, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?, 64]))?,
        };
        let fault = fault(&found);
        let near = fault.near.as_ref().expect("an allocation is near");
        assert_eq!((fault.address, near.bytes), (Some(near.address + 256), 256), "{fault}");
        assert!(fault.instruction.starts_with(access) && fault.source.is_some(), "{fault}");
        assert!(fault.to_string().contains("0 bytes behind the end of the 256 bytes at"), "{fault}");
    }
    Ok(())
}

#[test]
fn shared_and_local_memory_are_left() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_shared_outside", (1, 64, 252), arguments)?;
    assert_eq!(fault(&found).problem, "shared memory at 0xfc lies outside of the block's 252 bytes");
    assert_eq!(fault(&found).thread, [63, 0, 0]);
    let found = twins("planted_local_outside", (1, 32, 0), |driver| Ok(vec![words(driver, 32)?, 1 << 20]))?;
    assert!(fault(&found).problem.starts_with("local memory at"), "{}", fault(&found));
    Ok(())
}

#[test]
fn a_long_is_read_where_only_words_are_aligned() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]);
    let found = twins("planted_misaligned", (1, 32, 0), arguments)?;
    assert_eq!((fault(&found).thread, fault(&found).source.is_some()), ([1, 0, 0], true), "{}", fault(&found));
    assert!(fault(&found).problem.ends_with("is no multiple of 8"), "{}", fault(&found));
    Ok(())
}

#[test]
fn uninitialised_memory_is_read() -> TestResult {
    let found = twins("planted_unwritten", (1, 64, 0), |driver| {
        let mut x = 0;
        call!(driver.cuMemAlloc_v2(&mut x, 256))?;
        call!(driver.cuMemsetD32_v2(x, 7, 40))?;
        Ok(vec![x, words(driver, 64)?, 40])
    })?;
    let [FindingKind::UninitialisedRead { bytes, total, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((bytes, total), (&(160..256), &96));
    Ok(())
}

#[test]
fn uninitialised_shared_memory_is_read() -> TestResult {
    let kernel = "planted_unwritten_shared";
    let found = twins(kernel, (1, 64, 0), |driver| Ok(vec![words(driver, 64)?, words(driver, 64)?]))?;
    let [kind @ FindingKind::UninitialisedShared { read, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((&read.bytes, read.times, read.reader.thread), (&(256..260), 64, [0; 3]), "{kind}");
    assert_eq!(short(&read.reader.source), line(kernel, "y[threadIdx.x] ="), "{kind}");
    assert!(kind.to_string().contains("which no thread of the block has written"), "{kind}");
    Ok(())
}

#[test]
fn an_address_outlives_its_block() -> TestResult {
    let arguments = |driver: &Driver| Ok(vec![upload(driver, &[0; 2])?, words(driver, 2)?]);
    let found = twins("planted_block_over", (2, 1, 0), arguments)?;
    let [FindingKind::UninitialisedShared { read, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(read.reader.block, [1, 0, 0]);
    Ok(())
}

#[test]
fn memory_was_freed_before_the_launch() -> TestResult {
    let found = run(Mode::Sync, "planted_unwritten", (1, 32, 0), false, |driver| {
        let (x, y) = (upload(driver, &[1; 1 << 20])?, words(driver, 32)?);
        call!(driver.cuMemFree_v2(x))?;
        Ok(vec![x, y, 32])
    })?;
    assert!(fault(&found).freed.is_some() && fault(&found).to_string().contains("which cuMemFree_v2"));
    Ok(())
}
