//! Children of tests: messages, file descriptors, ends.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::process::{Channel, Child, run_part};
use warploom_testkit::{MACHINE, TestResult};

#[test]
fn child() -> TestResult {
    run_part(&[("echo", echo), ("fail", fail), ("sleep", sleep)])
}

/// Sends a message back, and writes it to the file that came with it.
fn echo(_: &Driver, parent: &Channel) -> TestResult {
    let (bytes, files) = parent.receive()?;
    for file in files {
        File::from(file).write_all(&bytes)?;
    }
    parent.send(&bytes, &[])
}

fn fail(_: &Driver, _: &Channel) -> TestResult {
    Err("as asked".into())
}

fn sleep(_: &Driver, parent: &Channel) -> TestResult {
    parent.signal()?;
    std::thread::sleep(Duration::from_secs(600));
    Ok(())
}

#[test]
fn bytes_and_files_reach_a_child() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "echo")?;
    let (mut reader, writer) = std::io::pipe()?;
    child.channel().send(b"hello", &[writer.as_fd()])?;
    drop(writer);
    assert_eq!(child.channel().receive_array()?, *b"hello");
    child.join()?;
    let mut text = String::new();
    reader.read_to_string(&mut text)?;
    assert_eq!(text, "hello");
    Ok(())
}

#[test]
fn a_failed_part_is_an_error_of_its_parent() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "fail")?;
    let error = child.join().err().ok_or("it failed")?;
    assert!(error.to_string().contains("fail"), "{error}");
    let unknown = Child::start_on(MACHINE, "child", "nonsense")?;
    assert!(unknown.join().is_err());
    Ok(())
}

#[test]
fn a_dropped_child_is_gone() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "sleep")?;
    child.channel().wait()?;
    let path = format!("/proc/{}", child.pid());
    assert!(Path::new(&path).exists());
    let before = Instant::now();
    drop(child);
    assert!(before.elapsed() < Duration::from_secs(10));
    assert!(!Path::new(&path).exists());
    Ok(())
}

#[test]
fn a_dead_peer_is_an_error_and_not_a_wait() -> TestResult {
    let child = Child::start_on(MACHINE, "child", "fail")?;
    let error = child.channel().receive().err().ok_or("nothing comes")?;
    assert!(error.to_string().contains("closed"), "{error}");
    Ok(())
}
