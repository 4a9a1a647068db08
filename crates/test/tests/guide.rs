//! The programs of `docs/testing-your-code.md`, which has each of them word for word.
#![expect(unsafe_code, reason = "calls C functions with pointers to variables of the test")]

use warploom::{DevicePool, Driver, Mesh, Result, Topology};
use warploom_test::Case;

/// The guide's first function, with its mistake.
mod wrong {
    use warploom::{DevicePool, Driver, Result};

    /// Draws frames on one stream and reads them on another; returns the last.
    pub(super) fn last_frame(driver: &Driver, frames: u8) -> Result<Vec<u8>> {
        let context = driver.device(0)?.context()?;
        let (draw, read) = (context.stream()?, context.stream()?);
        let mut frame = DevicePool::new(&context)?.zeroed::<u8>(640, &draw)?;
        let mut shown = frame.download(&read)?;
        for number in 1..=frames {
            frame.fill(number, &draw)?;
            shown = frame.download(&read)?;
        }
        Ok(shown)
    }
}

/// Draws frames on one stream and reads them on another; returns the last.
fn last_frame(driver: &Driver, frames: u8) -> Result<Vec<u8>> {
    let context = driver.device(0)?.context()?;
    let (draw, read) = (context.stream()?, context.stream()?);
    let mut frame = DevicePool::new(&context)?.zeroed::<u8>(640, &draw)?;
    let mut shown = frame.download(&read)?;
    for number in 1..=frames {
        frame.fill(number, &draw)?;
        read.wait_for(&draw)?;
        shown = frame.download(&read)?;
    }
    Ok(shown)
}

#[warploom_test::test(machine = "hgx-a100-4", seeds = 8)]
fn the_last_frame_is_shown(driver: &Driver) -> Result<()> {
    assert_eq!(last_frame(driver, 3)?, [3; 640]);
    Ok(())
}

#[warploom_test::test(machine = "hgx-a100-4")]
fn a_frame_crosses_to_the_last_device(driver: &Driver) -> Result<()> {
    let (first, last) = (driver.device(0)?.context()?, driver.device(3)?.context()?);
    let (here, there) = (DevicePool::new(&first)?, DevicePool::new(&last)?);
    let stream = last.stream()?;
    let frame = here.upload(&[7_u8; 640], &first.stream()?)?;
    let mut copy = there.zeroed::<u8>(640, &stream)?;
    let topology = Topology::probe(&driver.devices()?)?;
    let (mesh, _) = Mesh::open(&topology, &[first, last], &[&here, &there])?;
    mesh.copy(&frame, &mut copy, &stream)?;
    assert_eq!(copy.download(&stream)?, [7; 640]);
    Ok(())
}

#[warploom_test::test(faults = "sweep", tolerates = ["cuEventRecord", "cuStreamWaitEvent"])]
fn errors_reach_the_caller(driver: &Driver) -> Result<()> {
    last_frame(driver, 1).map(drop)
}

mod plan {
    use super::{Driver, last_frame};

    use warploom_test::sim::fault::{Class, Plan, Rule};
    use warploom_test::sys::types::CUresult;

    fn second_allocation_fails() -> Plan {
        Plan::new().rule(Rule::on(Class::Create).nth(2).fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY))
    }

    #[warploom_test::test(faults = second_allocation_fails())]
    fn a_full_device_is_an_error(driver: &Driver) {
        assert!(last_frame(driver, 1).is_err_and(|error| error.is_out_of_memory()));
    }
}

mod machine {
    use super::{Driver, Result, last_frame};

    use warploom_test::sim::Machine;

    #[warploom_test::test]
    fn no_work_is_left_behind(machine: &Machine, driver: &Driver) -> Result<()> {
        last_frame(driver, 3)?;
        assert_eq!(machine.unfinished_ops(), 0);
        Ok(())
    }
}

#[warploom_test::test]
async fn a_frame_can_be_awaited(driver: &Driver) -> Result<()> {
    let context = driver.device(0)?.context()?;
    let stream = context.stream()?;
    let mut frame = DevicePool::new(&context)?.zeroed::<u8>(640, &stream)?;
    frame.fill(7, &stream)?;
    stream.completion().await?;
    assert!(stream.is_idle()?);
    Ok(())
}

#[warploom_test::test(hardware = "ignore")]
fn the_frame_is_the_same_on_a_gpu(driver: &Driver) -> Result<()> {
    assert_eq!(last_frame(driver, 3)?, [3; 640]);
    Ok(())
}

#[warploom_test::test]
fn memory_is_filled(driver: &warploom_driver::Driver) -> warploom_driver::Result<()> {
    let (mut context, mut memory, mut bytes) = (std::ptr::null_mut(), 0, [0_u8; 64]);
    // SAFETY: each pointer is to a variable of this function, and the memory has 64 bytes.
    unsafe {
        driver.cuCtxCreate_v2(&mut context, 0, 0)?;
        driver.cuMemAlloc_v2(&mut memory, 64)?;
        driver.cuMemsetD8_v2(memory, 7, 64)?;
        driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 64)?;
        driver.cuMemFree_v2(memory)?;
        driver.cuCtxDestroy_v2(context)?;
    }
    assert_eq!(bytes, [7; 64]);
    Ok(())
}

#[test]
fn the_same_without_the_attribute() {
    Case::new().machine("hgx-a100-4").seeds(8).run(|driver: &Driver| -> Result<()> {
        assert_eq!(last_frame(driver, 3)?, [3; 640]);
        Ok(())
    });
}

/// The fenced blocks of the guide in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let guide = include_str!("../../../docs/testing-your-code.md");
    let opening = format!("```{language}\n");
    guide.split(opening.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// A text without indentation, folders, addresses, line numbers and numbers of calls.
fn normalised(text: &str) -> Vec<String> {
    let words = |line: &str| {
        let words = line.split_whitespace().map(|word| match word.rsplit_once(".rs:") {
            Some((path, _)) => format!("{}.rs", path.rsplit('/').next().unwrap_or_default()),
            None if word.starts_with("0x") => "0x…".to_owned(),
            None => word.to_owned(),
        });
        let words = words.collect::<Vec<_>>().join(" ");
        let mut parts = words.split("(call ");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |line, part| line + "(call" + part.trim_start_matches(|letter: char| letter.is_ascii_digit()))
    };
    text.lines().map(words).filter(|line| !line.is_empty()).collect()
}

#[test]
fn every_test_of_the_guide_is_a_test_here() {
    let here = normalised(include_str!("guide.rs"));
    let tests: Vec<&str> =
        blocks("rust").into_iter().filter(|block| block.contains("test]") || block.contains("test(")).collect();
    assert!(tests.len() >= 8, "the guide has {} tests", tests.len());
    for block in tests {
        for line in normalised(block).iter().filter(|line| !line.starts_with("use ") && !line.starts_with('#')) {
            assert!(here.contains(line), "a line of the guide is not here: {line}");
        }
    }
}

#[test]
fn the_output_in_the_guide_is_the_output_of_its_program() {
    let case = Case::new().machine("hgx-a100-4").seeds(8).name("the_last_frame_is_shown");
    let failure = case.try_run(|driver: &Driver| -> Result<()> {
        assert_eq!(wrong::last_frame(driver, 3)?, [3; 640]);
        Ok(())
    });
    let output = failure.expect_err("a wait is missing").to_string();
    let guide = blocks("text");
    let shown = guide.iter().find(|block| block.contains("race: ")).expect("the output is in the guide");
    // Long lines are broken in the guide, and the closure above is called otherwise than the guide's test.
    let joined = |text: &str| normalised(text).join(" ");
    for part in joined(shown).split(" … ") {
        assert!(joined(&output).contains(part.trim()), "not in the output: {part}\n{output}");
    }
}
