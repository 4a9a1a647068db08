//! Driver calls as they are remembered for reports: number, function and backtrace.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;
use warploom_sys::Function;

use super::operation::Frame;

/// A driver call, as it is remembered for a report.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Its number among the machine's calls, from 1.
    pub(crate) call: u64,
    pub(crate) function: Function,
    /// The backtrace, if it was asked for.
    pub(crate) trace: Option<Arc<Trace>>,
    /// The node of a graph, if the call launched one.
    pub(crate) node: Option<Arc<NodeSite>>,
}

/// A node of a graph, as it is remembered for a report.
#[derive(Debug)]
pub(crate) struct NodeSite {
    /// The number that `cuGraphGetId` shows.
    pub(crate) graph: u32,
    /// The node's number in its graph, in the order of additions.
    pub(crate) node: u32,
    pub(crate) kind: &'static str,
    /// The call that added it.
    pub(crate) added: Site,
}

/// Return addresses, innermost first; names are looked up only when a report needs them.
#[derive(Debug)]
pub(crate) struct Trace(SmallVec<[usize; DEPTH]>);

/// Frames kept of a remembered call: a dozen are the simulator's, or twice that where nothing is inlined, and
/// the rest shows the way through a program.
const DEPTH: usize = if cfg!(debug_assertions) { 64 } else { 32 };
/// Frames kept of the call of a finding, which is rare.
const FOUND_DEPTH: usize = 256;

/// The call this thread is in.
struct Current {
    site: Site,
    traces: bool,
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

/// Makes a call the one this thread is in until it is dropped; host functions may nest calls.
pub(crate) struct InCall {
    /// The call around it, which there seldom is.
    before: Option<Box<Current>>,
}

impl InCall {
    pub(crate) fn new(call: u64, function: Function, traces: bool) -> Self {
        let current = Current { site: Site { call, function, trace: None, node: None }, traces };
        // A thread that is ending has no place for it; its findings will not know their call.
        let enter = |place: &RefCell<Option<Current>>| {
            let mut place = place.borrow_mut();
            let before = place.take().map(Box::new);
            *place = Some(current);
            before
        };
        Self { before: CURRENT.try_with(enter).unwrap_or(None) }
    }
}

impl Drop for InCall {
    fn drop(&mut self) {
        let before = self.before.take().map(|before| *before);
        CURRENT.try_with(|place| *place.borrow_mut() = before).unwrap_or_default();
    }
}

/// The call this thread is in, if its machine checks.
pub(crate) fn current() -> Option<Site> {
    CURRENT
        .try_with(|place| {
            let mut place = place.borrow_mut();
            let current = place.as_mut()?;
            if current.traces && current.site.trace.is_none() {
                current.site.trace = Some(Arc::new(Trace::take(DEPTH)));
            }
            Some(current.site.clone())
        })
        .unwrap_or(None)
}

/// Lets the accesses that this thread remembers now be those of a graph's node, or of the call itself again.
pub(crate) fn enter_node(node: Option<Arc<NodeSite>>) {
    let enter = |place: &RefCell<Option<Current>>| {
        if let Some(current) = place.borrow_mut().as_mut() {
            current.site.node = node;
        }
    };
    CURRENT.try_with(enter).unwrap_or_default();
}

impl Trace {
    /// The backtrace of the call of a finding.
    pub(crate) fn of_finding() -> Self {
        Self::take(FOUND_DEPTH)
    }

    fn take(most: usize) -> Self {
        let mut addresses = SmallVec::new();
        backtrace::trace(|frame| {
            addresses.push(frame.ip().addr());
            addresses.len() < most
        });
        Self(addresses)
    }

    /// The program's own frames: those of the simulator, of the driver's methods, of the safe library and of the
    /// runtime are left out.
    pub(crate) fn frames(&self) -> Vec<Frame> {
        let (mut frames, mut folders) = (Vec::new(), Vec::new());
        self.resolve(&mut frames, &mut folders);
        // Inlined functions have no path in their names, but lie in the same package as others of the library.
        frames.retain(|frame| {
            let package = frame.file.as_deref().and_then(package);
            frame.function.contains("::tests::") || !package.is_some_and(|of| folders.iter().any(|folder| folder == of))
        });
        frames
    }

    /// Collects frames, and the packages of those of the safe library, which are left out.
    fn resolve(&self, frames: &mut Vec<Frame>, folders: &mut Vec<String>) {
        for address in &self.0 {
            let mut symbols: SmallVec<[Frame; 2]> = SmallVec::new();
            // A return address is behind the call, and may be the next line's.
            backtrace::resolve(std::ptr::without_provenance_mut(address - 1), |symbol| {
                symbols.extend(symbol.name().map(|name| Frame {
                    function: format!("{name:#}"),
                    file: symbol.filename().map(|file| file.display().to_string()),
                    line: symbol.lineno(),
                }));
            });
            for frame in symbols {
                if is_above_the_program(&frame.function) {
                    return;
                }
                if is_below_the_program(&frame.function) {
                    frames.clear();
                } else if !is_between(&frame.function) {
                    frames.push(frame);
                } else if frame.function.trim_start_matches('<').starts_with("warploom::") {
                    folders.extend(frame.file.as_deref().and_then(package).map(str::to_owned));
                }
            }
        }
    }
}

/// The folder of the package that a source file belongs to.
fn package(file: &str) -> Option<&str> {
    file.rsplit_once("/src/").map(|(folder, _)| folder)
}

/// `true` if a frame and all those it called are the simulator's.
fn is_below_the_program(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    let own = ["warploom_sim::", "warploom_driver::", "warploom_cuda::", "backtrace::"];
    own.iter().any(|own| name.starts_with(own)) && !name.contains("::tests::") || is_driver_function(name)
}

/// `true` for an exported function of the simulated library.
fn is_driver_function(name: &str) -> bool {
    let name = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
    name.starts_with("cu") && Function::ALL.iter().any(|function| function.name() == name)
}

/// `true` for a frame between the program and the driver, or between two functions of the program: of the safe
/// library, of the test runner, of the standard library, or of a closure's call shim.
fn is_between(name: &str) -> bool {
    let name = name.trim_start_matches('<');
    ["warploom::", "warploom_test::", "core::", "std::", "alloc::"].iter().any(|other| name.starts_with(other))
        && !name.contains("::tests::")
        || name.contains("FnOnce")
        || name.contains("FnMut")
}

/// `true` if a frame and all those that called it only started the program or the thread.
fn is_above_the_program(name: &str) -> bool {
    name.contains("__rust_begin_short_backtrace") || name == "main" || name.starts_with("__libc_start")
}
