use std::sync::atomic::Ordering;

use super::*;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const NEW: NewObject = NewObject {
    kind: SharedKind::Pool,
    size: 64 << 20,
    words: 1000,
    machine: 42,
    device: Some(SharedDevice { ordinal: 1, uuid: [9; 16] }),
    details: [1, 2, 3, 4, 5, 6, 7, 8],
};

fn number(file: &impl AsRawFd) -> u32 {
    file.as_raw_fd().cast_unsigned()
}

fn open(file: &impl AsRawFd) -> Result<SharedObject, OpenError> {
    SharedObject::open(number(file), SharedKind::Pool, 42)
}

#[test]
fn words_and_memory_are_those_of_the_object() -> TestResult {
    let object = SharedObject::create(&NEW)?;
    let other = open(&object.export()?)?;
    assert_eq!(other.header(), object.header());
    assert_eq!(object.header().details, NEW.details);
    for index in [0, 511, 999] {
        let (here, there) = (object.word(index).ok_or("a word")?, other.word(index).ok_or("a word")?);
        assert_eq!(there.load(Ordering::Acquire), 0);
        here.store(index + 7, Ordering::Release);
        assert_eq!(there.load(Ordering::Acquire), index + 7);
    }
    assert!(object.word(1000).is_none());
    File::from(object.export()?).write_all_at(b"bytes", object.data_offset() + NEW.size - 5)?;
    let mut bytes = [0; 5];
    File::from(other.export()?).read_exact_at(&mut bytes, other.data_offset() + NEW.size - 5)?;
    assert_eq!(&bytes, b"bytes");
    assert!(object.data_offset().is_multiple_of(BLOCK));
    assert!((4096..1 << 20).contains(&object.committed()), "{}", object.committed());
    Ok(())
}

#[test]
fn ids_are_different() -> TestResult {
    let [first, second] = [SharedObject::create(&NEW)?, SharedObject::create(&NEW)?];
    assert_ne!(first.header().id, second.header().id);
    Ok(())
}

#[test]
fn the_length_of_an_object_cannot_be_changed() -> TestResult {
    let object = SharedObject::create(&NEW)?;
    let file = object.export()?;
    assert_eq!(ftruncate(&file, 0), Err(Errno::PERM));
    assert_eq!(ftruncate(&file, 1 << 40), Err(Errno::PERM));
    assert_eq!(fcntl_add_seals(&file, SealFlags::WRITE), Err(Errno::PERM));
    Ok(())
}

#[test]
fn other_files_are_foreign() -> TestResult {
    assert!(matches!(open(&tempfile()?), Err(OpenError::Foreign)));
    assert!(matches!(open(&File::open("/dev/zero")?), Err(OpenError::Foreign)));
    assert!(matches!(open(&File::open("/proc/self/stat")?), Err(OpenError::Foreign)));
    let (reader, writer) = std::io::pipe()?;
    assert!(matches!(open(&reader), Err(OpenError::Foreign)));
    assert!(matches!(open(&writer), Err(OpenError::Foreign)));
    let empty = memfd_create(c"empty", MemfdFlags::CLOEXEC)?;
    assert!(matches!(open(&empty), Err(OpenError::Foreign)));
    ftruncate(&empty, 1 << 20)?;
    assert!(matches!(open(&empty), Err(OpenError::Foreign)));
    assert!(matches!(SharedObject::open(u32::MAX, SharedKind::Pool, 42), Err(OpenError::NotOpen(_))));
    Ok(())
}

/// A file of a file system, without a name.
fn tempfile() -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = rustix::fs::open(std::env::temp_dir(), flags, Mode::RUSR | Mode::WUSR)?;
    let file = File::from(file);
    file.write_all_at(&[1; 8192], 0)?;
    Ok(file)
}

#[test]
fn a_copy_of_an_object_needs_its_length_and_its_seals() -> TestResult {
    let object = SharedObject::create(&NEW)?;
    let copy = memfd_create(c"copy", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    File::from(copy.try_clone()?).write_all_at(&object.header().encode(), 0)?;
    assert!(matches!(open(&copy), Err(OpenError::Length { have: 160, .. })));
    ftruncate(&copy, length(object.header()))?;
    assert!(matches!(open(&copy), Err(OpenError::Length { .. })), "it could be truncated later");
    fcntl_add_seals(&copy, SealFlags::SHRINK | SealFlags::GROW)?;
    open(&copy)?;
    Ok(())
}

#[test]
fn an_altered_header_is_refused_and_an_open_object_keeps_its_own() -> TestResult {
    let object = SharedObject::create(&NEW)?;
    let file = File::from(object.export()?);
    let other = open(&file)?;
    file.write_all_at(&[1], 16)?;
    assert!(matches!(open(&file), Err(OpenError::Length { .. })));
    file.write_all_at(&[0xff], 15)?;
    assert!(matches!(open(&file), Err(OpenError::Damaged)));
    file.write_all_at(&[2], 8)?;
    assert!(matches!(open(&file), Err(OpenError::Version(2))));
    assert_eq!(other.header(), object.header());
    Ok(())
}

#[test]
fn kind_and_machine_are_checked() -> TestResult {
    let object = SharedObject::create(&NEW)?;
    let event = SharedObject::open(number(&object.file), SharedKind::Event, 42);
    assert!(matches!(event, Err(OpenError::Kind { found: SharedKind::Pool, wanted: SharedKind::Event })));
    let elsewhere = SharedObject::open(number(&object.file), SharedKind::Pool, 43);
    assert!(matches!(elsewhere, Err(OpenError::OtherMachine)));
    Ok(())
}

#[test]
fn a_located_object_is_found_until_it_is_closed() -> TestResult {
    let object = SharedObject::create(&NewObject { size: 0, kind: SharedKind::Event, ..NEW })?;
    let locator = Locator::decode(&object.locator()?.encode());
    assert_eq!(locator, object.locator()?);
    let find = |locator: &Locator| SharedObject::open_at(locator, SharedKind::Event, 42);
    assert_eq!(find(&locator)?.header(), object.header());
    let restarted = ProcessId { started: locator.process.started + 1, ..locator.process };
    assert!(matches!(find(&Locator { process: restarted, ..locator }), Err(OpenError::Gone(_))));
    assert!(matches!(find(&Locator { id: locator.id + 1, ..locator }), Err(OpenError::Gone(_))));
    let nobody = ProcessId { pid: u32::MAX, started: 0 };
    assert!(matches!(find(&Locator { process: nobody, ..locator }), Err(OpenError::Gone(u32::MAX))));
    drop(object);
    assert!(matches!(find(&locator), Err(OpenError::Gone(_))));
    Ok(())
}

#[test]
fn machines_of_one_description_have_one_digest() -> TestResult {
    let digest_of = |name: &str| Topology::preset(name).map(|topology| digest(&topology));
    assert_eq!(digest_of("h200")?, digest_of("h200")?);
    assert_ne!(digest_of("h200")?, digest_of("dgx-h100")?);
    Ok(())
}
