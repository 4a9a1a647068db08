//! NVTX annotations, by a library of the test's own, and without one.
#![expect(unsafe_code, reason = "is a library in C")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int};
use std::panic::catch_unwind;
use std::ptr::without_provenance_mut;

use warploom::nvtx::raw::{NvtxTable, nvtxDomainHandle_t, nvtxEventAttributes_t, nvtxRangeId_t};
use warploom::nvtx::{Annotation, Domain, Nvtx, NvtxError, Range};
use warploom_testkit::implements;

thread_local! {
    /// The calls of the library on this thread.
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn called(call: String) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

fn calls() -> Vec<String> {
    CALLS.take()
}

/// The attributes as text.
unsafe fn shown(attributes: *const nvtxEventAttributes_t) -> String {
    // SAFETY: the caller passes on what the library was given, which has to be valid.
    let given = unsafe { attributes.read() };
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(given.message) }.to_string_lossy();
    assert_eq!((given.version, given.size, given.messageType, given.reserved0), (2, 48, 1, 0));
    let color = if given.colorType == 1 { format!(" #{:08x}", given.color) } else { String::new() };
    let payload = if given.payloadType == 1 { format!(" ={}", given.payload) } else { String::new() };
    let category = if given.category == 0 { String::new() } else { format!(" in {}", given.category) };
    format!("{text}{color}{payload}{category}")
}

extern "C" fn mark(attributes: *const nvtxEventAttributes_t) {
    // SAFETY: the library trusts its caller.
    let text = unsafe { shown(attributes) };
    called(format!("mark {text}"));
}

extern "C" fn start(attributes: *const nvtxEventAttributes_t) -> nvtxRangeId_t {
    // SAFETY: as above.
    let text = unsafe { shown(attributes) };
    called(format!("start {text}"));
    7
}

extern "C" fn end(id: nvtxRangeId_t) {
    called(format!("end {id}"));
}

extern "C" fn push(attributes: *const nvtxEventAttributes_t) -> c_int {
    // SAFETY: as above.
    let text = unsafe { shown(attributes) };
    called(format!("push {text}"));
    0
}

extern "C" fn pop() -> c_int {
    called("pop".to_owned());
    0
}

extern "C" fn create(name: *const c_char) -> nvtxDomainHandle_t {
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) };
    called(format!("create {}", name.to_string_lossy()));
    without_provenance_mut(42)
}

extern "C" fn destroy(domain: nvtxDomainHandle_t) {
    called(format!("destroy {}", domain.addr()));
}

extern "C" fn domain_mark(domain: nvtxDomainHandle_t, attributes: *const nvtxEventAttributes_t) {
    // SAFETY: as above.
    let text = unsafe { shown(attributes) };
    called(format!("{}: mark {text}", domain.addr()));
}

extern "C" fn domain_start(domain: nvtxDomainHandle_t, attributes: *const nvtxEventAttributes_t) -> nvtxRangeId_t {
    // SAFETY: as above.
    let text = unsafe { shown(attributes) };
    called(format!("{}: start {text}", domain.addr()));
    9
}

extern "C" fn domain_end(domain: nvtxDomainHandle_t, id: nvtxRangeId_t) {
    called(format!("{}: end {id}", domain.addr()));
}

extern "C" fn domain_push(domain: nvtxDomainHandle_t, attributes: *const nvtxEventAttributes_t) -> c_int {
    // SAFETY: as above.
    let text = unsafe { shown(attributes) };
    called(format!("{}: push {text}", domain.addr()));
    0
}

extern "C" fn domain_pop(domain: nvtxDomainHandle_t) -> c_int {
    called(format!("{}: pop", domain.addr()));
    0
}

fn fake() -> Nvtx {
    let table = NvtxTable {
        nvtxMarkEx: mark,
        nvtxRangeStartEx: start,
        nvtxRangeEnd: end,
        nvtxRangePushEx: push,
        nvtxRangePop: pop,
        nvtxDomainCreateA: create,
        nvtxDomainDestroy: destroy,
        nvtxDomainMarkEx: domain_mark,
        nvtxDomainRangeStartEx: domain_start,
        nvtxDomainRangeEnd: domain_end,
        nvtxDomainRangePushEx: domain_push,
        nvtxDomainRangePop: domain_pop,
    };
    // SAFETY: the functions have the types of NVTX's, and only read what they are given.
    unsafe { Nvtx::from_table(table) }
}

#[test]
fn annotations_of_the_default_domain_reach_the_library() {
    let nvtx = fake();
    assert_eq!(nvtx.error(), None);
    nvtx.mark("here");
    let range = nvtx.range(Annotation::new("step").color(0xff00_ff00).payload(3).category(2));
    assert_eq!(nvtx.scope(&String::from("inner"), || 5), 5);
    drop(range);
    nvtx.mark("cut\0off");
    let expected = ["mark here", "start step #ff00ff00 =3 in 2", "push inner", "pop", "end 7", "mark cut"];
    assert_eq!(calls(), expected);
}

#[test]
fn a_domain_lives_until_its_last_range_has_ended() {
    let domain = fake().domain("mine");
    domain.mark("here");
    let range = domain.clone().range("step");
    domain.scope("inner", || domain.mark("there"));
    drop(domain);
    assert_eq!(
        calls(),
        ["create mine", "42: mark here", "42: start step", "42: push inner", "42: mark there", "42: pop"]
    );
    drop(range);
    assert_eq!(calls(), ["42: end 9", "destroy 42"]);
}

#[test]
fn a_scope_ends_when_its_body_panics() {
    let nvtx = fake();
    let panicked = catch_unwind(|| nvtx.scope("outer", || panic!("by the body")));
    assert!(panicked.is_err());
    assert_eq!(calls(), ["push outer", "pop"]);
}

#[test]
fn without_a_library_annotations_do_nothing() {
    let nvtx = Nvtx::disabled();
    assert_eq!(nvtx.error(), Some(&NvtxError::Disabled));
    let domain = nvtx.domain("mine");
    domain.mark("here");
    let (range, other) = (nvtx.range("step"), domain.range("step"));
    assert_eq!((nvtx.scope("inner", || 5), domain.scope("inner", || 6)), (5, 6));
    drop((range, other));
    assert!(calls().is_empty());
    // Whichever this system has, a program can be annotated.
    let system = Nvtx::load();
    system.scope("test", || system.mark("here"));
    drop(system.domain("mine").range("step"));
    assert!(matches!(system.error(), None | Some(NvtxError::NotFound { .. } | NvtxError::NotNvtx { .. })));
}

#[test]
fn a_named_library_that_is_absent_is_an_error() {
    // SAFETY: there is no such library.
    let error = unsafe { Nvtx::load_from("libwarploom-absent.so.1") }.expect_err("there is none");
    assert!(matches!(&error, NvtxError::NotFound { tried } if tried.len() == 1), "{error}");
}

#[test]
fn ranges_may_end_on_another_thread() {
    assert!(implements!(Range: Send + Sync) && implements!(Domain: Send + Sync) && implements!(Nvtx: Send + Sync));
}
