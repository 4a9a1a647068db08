//! Committed pages: the host memory that simulated memory takes.
//!
//! Address space costs nothing. A page is committed when it is first written; one that is only read shares
//! the system's page of zeros. The pages of all machines of the process are counted together, because the
//! system counts them so.
#![expect(unsafe_code, reason = "gives pages of spans back to the system")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use parking_lot::RwLock;
use rustix::mm::{Advice, madvise};

/// The spans of the process: start, end, and true if all of their pages are private to it.
static SPANS: RwLock<BTreeMap<u64, (u64, bool)>> = RwLock::new(BTreeMap::new());

/// The lock is held for moments only. A child of `fork` may find it locked for ever; its spans are not
/// counted then.
const PATIENCE: Duration = Duration::from_secs(1);

const PAGE: u64 = 4096;

/// A fill with zeros of this many bytes gives pages back instead of writing them.
pub(crate) const RELEASED: u64 = 1 << 20;

pub(super) fn add_span(address: u64, len: u64) {
    if let Some(mut spans) = SPANS.try_write_for(PATIENCE) {
        spans.insert(address, (address + len, true));
    }
}

pub(super) fn remove_span(address: u64) {
    if let Some(mut spans) = SPANS.try_write_for(PATIENCE) {
        spans.remove(&address);
    }
}

/// Notes that a span has pages of a file, which become zeros only when they are removed from the file.
pub(super) fn note_file(address: u64) {
    if let Some(mut spans) = SPANS.try_write_for(PATIENCE)
        && let Some((_, is_private)) = spans.get_mut(&address)
    {
        *is_private = false;
    }
}

/// Fills whole pages with zeros by giving them back to the system. Returns those that it has filled; none if
/// they are few, or not pages of a span that could be given back.
pub(super) fn release(host: usize, bytes: u64) -> Option<Range<u64>> {
    let (start, end) = ((host as u64).next_multiple_of(PAGE), (host as u64 + bytes) / PAGE * PAGE);
    if bytes < RELEASED || start >= end {
        return None;
    }
    let spans = SPANS.try_read_for(PATIENCE)?;
    let (_, (span_end, is_private)) = spans.range(..=start).next_back()?;
    if end > *span_end {
        return None;
    }
    // Pages of a file are removed from the file. The kernel refuses that for private pages.
    let advice = if *is_private { Advice::LinuxDontNeed } else { Advice::LinuxRemove };
    let pages = std::ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: pages of one span, mapped as long as the lock is held. Their bytes are to be zeros, also where
    // the kernel stops halfway, and nobody's reference points to them (`SimAddress::new`).
    let advised = unsafe { madvise(pages, (end - start) as usize, advice) };
    advised.is_ok().then_some(start..end)
}

/// Host memory that the pages of all spans take, in bytes.
pub(crate) fn committed() -> u64 {
    let Some(text) = read("/proc/self/smaps") else { return resident() };
    let spans: Vec<Range<u64>> = SPANS
        .try_read_for(PATIENCE)
        .map(|spans| spans.iter().map(|(start, (end, _))| *start..*end).collect())
        .unwrap_or_default();
    count(&text, &spans)
}

/// The anonymous pages of mappings that lie in spans, as `/proc/self/smaps` lists them.
fn count(text: &str, spans: &[Range<u64>]) -> u64 {
    let (mut is_counted, mut bytes) = (false, 0);
    for line in text.lines() {
        if let Some(range) = mapping(line) {
            let next = spans.partition_point(|span| span.end <= range.start);
            is_counted = spans.get(next).is_some_and(|span| span.start < range.end);
        } else if is_counted && let Some(rest) = line.strip_prefix("Anonymous:") {
            let kilobytes = rest.trim().strip_suffix("kB").and_then(|number| number.trim().parse::<u64>().ok());
            bytes += kilobytes.unwrap_or(0) << 10;
        }
    }
    bytes
}

/// The addresses of a mapping, if a line is the first about one: `7f00…-7f10… rw-p …`.
fn mapping(line: &str) -> Option<Range<u64>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

/// All that the process has in memory, for systems that do not list mappings.
fn resident() -> u64 {
    let pages = read("/proc/self/statm").and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE
}

/// The bytes of a range whose pages are committed; zero where the system does not say.
pub(super) fn committed_in(range: &Range<u64>) -> u64 {
    const PRESENT: u64 = 1 << 63;
    const SWAPPED: u64 = 1 << 62;
    // The page of zeros is not the process's own.
    const EXCLUSIVE: u64 = 1 << 56;
    let Ok(file) = File::open("/proc/self/pagemap") else { return 0 };
    let (first, end) = (range.start / PAGE, range.end.div_ceil(PAGE));
    let (mut at, mut pages, mut entries) = (first, 0, vec![0; 1 << 16]);
    while at < end {
        let wanted = (((end - at) * 8) as usize).min(entries.len());
        if file.read_exact_at(&mut entries[..wanted], at * 8).is_err() {
            break;
        }
        let words = entries[..wanted].as_chunks::<8>().0.iter().map(|entry| u64::from_le_bytes(*entry));
        let is_own = |entry: &u64| entry & SWAPPED != 0 || entry & PRESENT != 0 && entry & EXCLUSIVE != 0;
        pages += words.filter(is_own).count() as u64;
        at += wanted as u64 / 8;
    }
    (pages * PAGE).min(range.end - range.start)
}

/// The memory of the host, or of the control group that the process is in.
pub(crate) fn host_memory() -> Option<u64> {
    let of_host = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    });
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let of_group = files.into_iter().filter_map(|file| read(file)?.trim().parse().ok());
    of_host.into_iter().chain(of_group).min()
}

fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::memory::span::Span;

    const MIB: u64 = 1 << 20;

    fn touch(span: &Span, pages: Range<u64>, writes: bool) {
        for page in pages {
            let byte = std::ptr::with_exposed_provenance_mut::<u8>((span.address() + page * PAGE) as usize);
            // SAFETY: a byte of an open span that nobody else knows.
            unsafe {
                match writes {
                    true => byte.write_volatile(1),
                    false => assert_eq!(byte.read_volatile(), 0),
                }
            }
        }
    }

    #[test]
    fn pages_are_committed_by_writes_and_not_by_reads() -> std::io::Result<()> {
        let span = Span::open(64 * MIB)?;
        let all = span.address()..span.address() + 64 * MIB;
        touch(&span, 0..4096, false);
        assert_eq!(committed_in(&all), 0);
        touch(&span, 512..1024, true);
        let committed_here = committed_in(&all);
        // Large pages may be committed as a whole.
        assert!((2 * MIB..=8 * MIB).contains(&committed_here), "{committed_here}");
        assert!(committed() >= 2 * MIB, "{}", committed());
        let filled = release(span.address() as usize + 100, 64 * MIB - 100);
        assert_eq!(filled, Some(span.address() + PAGE..span.address() + 64 * MIB));
        assert_eq!(committed_in(&all), 0);
        touch(&span, 1..4096, false);
        Ok(())
    }

    #[test]
    fn few_bytes_and_bytes_of_others_are_not_released() -> std::io::Result<()> {
        let span = Span::open(2 * MIB)?;
        assert_eq!(release(span.address() as usize, RELEASED - 1), None);
        assert_eq!(release(span.address() as usize + PAGE as usize, 2 * MIB), None);
        let own = vec![1_u8; 4 * MIB as usize];
        assert_eq!(release(own.as_ptr().addr(), 4 * MIB), None);
        assert!(own.iter().all(|byte| *byte == 1));
        note_file(span.address());
        assert_eq!(release(span.address() as usize, 2 * MIB), None);
        Ok(())
    }

    #[test]
    fn pages_of_a_file_are_removed_from_the_file() -> std::io::Result<()> {
        let file = rustix::fs::memfd_create(c"pages", rustix::fs::MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&file, 4 * MIB)?;
        let span = Span::open(8 * MIB)?;
        span.share(span.address(), 4 * MIB, file.as_fd(), 0, true)?;
        touch(&span, 0..1024, true);
        let blocks = || rustix::fs::fstat(&file).map(|file| file.st_blocks);
        assert_eq!(blocks()?, 8192);
        let filled = release(span.address() as usize, 4 * MIB);
        assert_eq!(filled, Some(span.address()..span.address() + 4 * MIB));
        assert_eq!(blocks()?, 0);
        touch(&span, 0..1024, false);
        // Beside the file are private pages, which the kernel does not remove.
        assert_eq!(release(span.address() as usize, 8 * MIB), None);
        Ok(())
    }

    #[test]
    fn mappings_outside_of_spans_are_not_counted() {
        let text = "7f0000000000-7f0000010000 rw-p 00000000 00:00 0\nSize: 64 kB\nAnonymous: 12 kB\n\
                    7f0000020000-7f0000030000 rw-p 00000000 00:00 0 [x]\nAnonymous: 40 kB\nVmFlags: rd wr\n\
                    7f0000040000-7f0000050000 rw-p 00000000 00:00 0\nAnonymous: 8 kB\n";
        let spans = [0x7f00_0000_8000..0x7f00_0000_9000, 0x7f00_0003_0000..0x7f00_0005_0000];
        assert_eq!(count(text, &spans), 20 << 10);
        assert_eq!(count(text, &[]), 0);
    }
}
