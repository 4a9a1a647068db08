//! Caches of compiled programs.

use std::io;
use std::sync::{Mutex, MutexGuard};

use warploom::Result;
use warploom::program::{CacheEntry, CacheKey, Cached, MemoryCache, NvrtcError, Program, ProgramCache, Target};

use crate::trusted::entry;
use crate::{fake, options, program, refusal};

pub(crate) fn key(text: &str) -> CacheKey {
    CacheKey::builder("test").part("text", text).finish()
}

#[test]
fn the_second_time_nothing_is_compiled_and_everything_is_as_the_first_time() -> Result<()> {
    let (nvrtc, cache) = (fake::open(), MemoryCache::new(1 << 20));
    let given = program("#warning").name_expression("k<int>").header("h.h", "int h;");
    let first = given.compile_cached(&nvrtc, Target::Cubin, &cache)?;
    assert_eq!(first.cached, Cached::Stored);
    fake::calls();
    let second = given.compile_cached(&nvrtc, Target::Cubin, &cache)?;
    assert_eq!((&second.cached, fake::calls().len()), (&Cached::Hit, 0));
    assert_eq!((&second.code, &second.log), (&first.code, &first.log));
    assert_eq!(second.code.lowered_name("k<int>"), Some("_Zk<int>"));
    assert_eq!(second.code, given.compile(&nvrtc, Target::Cubin)?.code);
    Ok(())
}

/// CCH-1.
#[test]
fn many_are_put_at_once() -> io::Result<()> {
    let cache = MemoryCache::new(1 << 20);
    cache.put_all(&[(key("a"), &entry(b"1")), (key("b"), &entry(b"2")), (key("a"), &entry(b"3"))])?;
    assert_eq!((cache.get(&key("a"))?, cache.get(&key("b"))?), (Some(entry(b"3")), Some(entry(b"2"))));
    Ok(())
}

#[test]
fn everything_the_code_depends_on_is_in_the_key() -> Result<()> {
    let nvrtc = fake::open();
    let mut programs = vec![
        program("a"),
        program("b"),
        Program::new("other.cu", "a", options()),
        Program::new("test.cu", "a", options().define("N", 1)),
        Program::new("test.cu", "a", options().define("N", 2)),
        Program::new("test.cu", "a", options().define("M", 1).define("N", 1)),
        Program::new("test.cu", "a", options().raw("--x")),
        program("a").header("h", ""),
        program("a").header("h", "x"),
        program("a").header("hx", ""),
        program("a").name_expression("h"),
        program("a").files_digest("h"),
    ];
    programs.push(program("a").header("h", "").name_expression("h"));
    let mut keys = vec![];
    for program in &programs {
        keys.push(program.cache_key(&nvrtc, Target::Ptx)?);
        keys.push(program.cache_key(&nvrtc, Target::Cubin)?);
    }
    let older = fake::open_version(12, 4)?;
    keys.push(programs[0].cache_key(&older, Target::Ptx)?);
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    Ok(())
}

#[test]
fn the_order_in_which_headers_and_names_are_given_does_not_matter() -> Result<()> {
    let nvrtc = fake::open();
    let one = program("").header("a", "1").header("b", "2").name_expression("x").name_expression("y");
    let other = program("").name_expression("y").name_expression("x").header("b", "2").header("a", "1");
    assert_eq!(one.cache_key(&nvrtc, Target::Ptx)?, other.cache_key(&nvrtc, Target::Ptx)?);
    Ok(())
}

#[test]
fn options_that_read_files_need_a_digest_and_those_that_write_them_are_never_cached() -> Result<()> {
    let (nvrtc, cache) = (fake::open(), MemoryCache::new(1 << 20));
    let given = Program::new("a.cu", "", options().include("/folder"));
    let error = refusal(given.compile_cached(&nvrtc, Target::Ptx, &cache));
    assert!(matches!(error, NvrtcError::NotCacheable { .. }));
    assert_eq!(
        error.to_string(),
        "a.cu cannot be cached: --include-path=/folder reads files, which may change; give a files_digest, or \
         headers with the program"
    );
    given.files_digest("1").compile_cached(&nvrtc, Target::Ptx, &cache)?;
    fake::calls();
    let given = Program::new("a.cu", "", options().raw("--create-pch=x")).files_digest("1");
    let error = refusal(given.compile_cached(&nvrtc, Target::Ptx, &cache));
    assert!(error.to_string().contains("--create-pch=x writes files"), "{error}");
    assert_eq!((fake::calls().len(), cache.len().unwrap()), (0, 1));
    Ok(())
}

#[test]
fn failed_compilations_are_not_cached() {
    let (nvrtc, cache) = (fake::open(), MemoryCache::new(1 << 20));
    for _ in 0..2 {
        let error = refusal(program("#error").compile_cached(&nvrtc, Target::Ptx, &cache));
        assert!(matches!(error, NvrtcError::Compilation { .. }));
    }
    assert!(cache.is_empty().unwrap());
}

/// A cache of a caller's own, which fails, or has other bytes than it was given.
#[derive(Default)]
struct Unreliable {
    entry: Mutex<Option<CacheEntry>>,
    fails: bool,
}

impl Unreliable {
    fn held(&self) -> MutexGuard<'_, Option<CacheEntry>> {
        self.entry.lock().expect("nobody panics while it is held")
    }
}

impl ProgramCache for Unreliable {
    fn get(&self, _: &CacheKey) -> io::Result<Option<CacheEntry>> {
        if self.fails { Err(io::Error::other("out of reach")) } else { Ok(self.held().clone()) }
    }

    fn put(&self, _: &CacheKey, entry: &CacheEntry) -> io::Result<()> {
        *self.held() = Some(entry.clone());
        if self.fails { Err(io::Error::other("out of reach")) } else { Ok(()) }
    }

    fn remove(&self, _: &CacheKey) -> io::Result<()> {
        self.clear()
    }

    fn clear(&self) -> io::Result<()> {
        *self.held() = None;
        Ok(())
    }

    fn len(&self) -> io::Result<usize> {
        Ok(usize::from(self.held().is_some()))
    }
}

#[test]
fn a_cache_that_fails_costs_a_compilation_and_nothing_else() -> Result<()> {
    let (nvrtc, cache) = (fake::open(), Unreliable { fails: true, ..Unreliable::default() });
    let compiled = program("a").compile_cached(&nvrtc, Target::Ptx, &cache)?;
    assert_eq!(compiled.cached, Cached::Failed { why: "out of reach".to_owned() });
    assert_eq!(compiled.code, program("a").compile(&nvrtc, Target::Ptx)?.code);
    Ok(())
}

#[test]
fn damaged_bytes_are_compiled_anew_and_replaced() -> Result<()> {
    let (nvrtc, cache) = (fake::open(), Unreliable::default());
    program("a").compile_cached(&nvrtc, Target::Ptx, &cache)?;
    // Those of another program, as if keys were mixed up, and some that are cut off.
    assert_eq!(program("b").compile_cached(&nvrtc, Target::Ptx, &cache)?.cached, Cached::Stored);
    assert_eq!(program("b").compile_cached(&nvrtc, Target::Ptx, &cache)?.cached, Cached::Hit);
    let cut = entry(&cache.held().as_ref().unwrap().as_bytes()[..40]);
    *cache.held() = Some(cut);
    assert_eq!(program("b").compile_cached(&nvrtc, Target::Ptx, &cache)?.cached, Cached::Stored);
    assert_eq!(program("b").compile_cached(&nvrtc, Target::Ptx, &cache)?.cached, Cached::Hit);
    Ok(())
}

#[test]
fn memory_is_limited_and_the_least_recently_used_entry_goes_first() -> io::Result<()> {
    let cache = MemoryCache::new(30);
    for name in ["a", "b", "c"] {
        cache.put(&key(name), &entry(&[1; 10]))?;
    }
    cache.get(&key("a"))?;
    cache.put(&key("d"), &entry(&[2; 10]))?;
    let there: Vec<bool> =
        ["a", "b", "c", "d"].map(|name| cache.get(&key(name)).unwrap().is_some()).into_iter().collect();
    assert_eq!(there, [true, false, true, true]);
    assert_eq!((cache.bytes(), cache.len()?), (30, 3));
    cache.put(&key("a"), &entry(&[3; 20]))?;
    assert_eq!((cache.bytes(), cache.get(&key("c"))?, cache.get(&key("a"))?), (30, None, Some(entry(&[3; 20]))));
    cache.put(&key("a"), &entry(&[4; 31]))?;
    assert_eq!((cache.bytes(), cache.get(&key("a"))?), (10, None));
    cache.clear()?;
    assert_eq!((cache.bytes(), cache.is_empty()?), (0, true));
    assert_eq!(format!("{cache:?}"), "MemoryCache { limit: 30, bytes: 0, entries: 0 }");
    Ok(())
}
