//! Words that streams write and wait for.
#![expect(unsafe_code, reason = "has streams write and read page-locked memory, which the host shares")]

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::with_exposed_provenance_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Wake;

use warploom_driver::sys::types::{CUdeviceptr, CUstream, CUstreamWaitValue_flags as Flags};
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::{Stream, WeakStream, WordOperation, Work};
use crate::callback::{self, Callback};
use crate::capture::{self, RelaxedMode};
use crate::context::Word;
use crate::device::same_driver;
use crate::{Context, DeviceAttribute, Driver, Error, Event, Queue, Result, StreamError};

/// A word that streams write and wait for in their order, and that the host reads and writes at any time.
///
/// A stream that waits for a word starts nothing later until the comparison holds. So the host can release
/// work that is enqueued already, and streams of different devices can signal each other without an event.
/// Writes of a stream before it writes a word are visible to work behind a wait that sees the new value.
///
/// The memory is page-locked and belongs to the context. A word may be dropped while streams still use it: it
/// is used for another only when they are done. A stream whose value never comes waits for good.
///
/// ```
/// use warploom::{Comparison, DevicePool, Driver, StreamWord};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let (first, second) = (context.stream()?, context.stream()?);
/// let mut buffer = DevicePool::new(&context)?.zeroed::<u32>(1000, &first)?;
///
/// let word = StreamWord::<u32>::new(&context, 0)?;
/// word.wait(Comparison::AtLeast(1), &first)?; // the fill waits for the host,
/// buffer.fill(7, &first)?;
/// word.write(2, &first)?;
/// word.wait(Comparison::AtLeast(2), &second)?; // and the second stream for the fill
/// let done = second.record()?;
///
/// word.store(1);
/// done.synchronize()?;
/// assert_eq!((word.load(), buffer.download(&second)?), (2, vec![7; 1000]));
/// # Ok(())
/// # }
/// ```
pub struct StreamWord<V: WordValue = u32> {
    /// There until it is dropped. Graphs may keep it longer.
    word: Option<Arc<Word>>,
    /// Kept until the word is given back.
    context: Context,
    users: Mutex<Vec<User>>,
    of: PhantomData<V>,
}

/// The most users that are dropped when one is added.
const DROPPED: usize = 4;

/// A stream that has used a word.
struct User {
    stream: WeakStream,
    /// `true` if its device can compare by NOR.
    has_nor: bool,
}

/// The comparison of a word with a value, for a stream that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Comparison<V> {
    /// The word minus the value is not negative as a signed number, so that counters may wrap around.
    AtLeast(V),
    /// The word is the value.
    Equal(V),
    /// The word and the value have a set bit in common.
    And(V),
    /// A bit is set neither in the word nor in the value.
    Nor(V),
}

/// The type of a [`StreamWord`]: `u32` or `u64`.
pub trait WordValue: value::Value {}

impl WordValue for u32 {}
impl WordValue for u64 {}

mod value {
    use std::fmt;

    use super::{CUdeviceptr, CUstream, Driver};

    pub trait Value: Copy + fmt::Debug + 'static {
        const BITS: u32;

        fn to_u64(self) -> u64;

        /// # Safety
        ///
        /// There is a word of this size at the address, which only atomic accesses of the host use.
        unsafe fn load(address: *mut Self) -> Self;

        /// # Safety
        ///
        /// As [`Value::load`].
        unsafe fn store(address: *mut Self, value: Self);

        /// # Safety
        ///
        /// There is a word of this size at the address until the stream, which is alive, is done with it.
        unsafe fn write(self, at: CUdeviceptr, stream: CUstream, driver: &Driver) -> warploom_driver::Result<()>;

        /// # Safety
        ///
        /// As [`Value::write`].
        unsafe fn wait(
            self,
            at: CUdeviceptr,
            flags: u32,
            stream: CUstream,
            driver: &Driver,
        ) -> warploom_driver::Result<()>;
    }
}

macro_rules! values {
    ($($type:ident $atomic:ident $write:ident $wait:ident)*) => {$(
        impl value::Value for $type {
            const BITS: u32 = $type::BITS;

            fn to_u64(self) -> u64 {
                self.into()
            }

            unsafe fn load(address: *mut Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(address) }.load(Ordering::Acquire)
            }

            unsafe fn store(address: *mut Self, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { $atomic::from_ptr(address) }.store(value, Ordering::Release);
            }

            unsafe fn write(self, at: CUdeviceptr, stream: CUstream, driver: &Driver) -> warploom_driver::Result<()> {
                // SAFETY: the caller's promise.
                unsafe { driver.$write(stream, at, self, 0) }
            }

            unsafe fn wait(
                self,
                at: CUdeviceptr,
                flags: u32,
                stream: CUstream,
                driver: &Driver,
            ) -> warploom_driver::Result<()> {
                // SAFETY: the caller's promise.
                unsafe { driver.$wait(stream, at, self, flags) }
            }
        }
    )*};
}
values! {
    u32 AtomicU32 cuStreamWriteValue32_v2 cuStreamWaitValue32_v2
    u64 AtomicU64 cuStreamWriteValue64_v2 cuStreamWaitValue64_v2
}

impl<V: WordValue> StreamWord<V> {
    /// A word with a value, in page-locked memory of a context.
    ///
    /// # Errors
    ///
    /// [`StreamError::NoWords`] for 64 bits if the device has none, and the driver's error.
    pub fn new(context: &Context, value: V) -> Result<StreamWord<V>> {
        context.check_generation()?;
        refuse_width(V::BITS, context)?;
        let taken = Arc::new(context.cached().words.take(context)?);
        let word = StreamWord { word: Some(taken), context: context.clone(), users: Mutex::default(), of: PhantomData };
        word.store(value);
        Ok(word)
    }

    /// The value that the host sees now.
    #[must_use]
    pub fn load(&self) -> V {
        // SAFETY: the word is there, and the host uses it by atomic accesses only.
        unsafe { V::load(with_exposed_provenance_mut(self.as_raw() as usize)) }
    }

    /// Sets the value now, from the host. Writes of the host before it are visible to streams that wait for
    /// it.
    pub fn store(&self, value: V) {
        // SAFETY: as above.
        unsafe { V::store(with_exposed_provenance_mut(self.as_raw() as usize), value) };
    }

    /// Sets the value in the order of `queue`, which may be of any context of the driver.
    ///
    /// # Errors
    ///
    /// [`StreamError::NoWords`] for 64 bits if the queue's device has none,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the queue belongs to another
    /// driver, [`CaptureError::NotCapturable`](crate::CaptureError::NotCapturable) if it is captured, and the
    /// driver's error.
    #[doc(alias = "cuStreamWriteValue32")]
    #[doc(alias = "cuStreamWriteValue64")]
    pub fn write(&self, value: V, queue: &impl Queue) -> Result<()> {
        let (stream, at) = (queue.stream(), self.as_raw());
        self.admit(stream, false)?;
        // SAFETY: the word is there until the stream, which is kept, is done with it.
        stream.enqueue(|raw| unsafe { value.write(at, raw, stream.driver()) })
    }

    /// Later work of `queue` waits until the comparison holds. The queue may be of any context of the driver.
    ///
    /// # Errors
    ///
    /// As [`StreamWord::write`], and [`StreamError::NoWords`] for [`Comparison::Nor`] if the queue's device
    /// cannot compare like that.
    #[doc(alias = "cuStreamWaitValue32")]
    #[doc(alias = "cuStreamWaitValue64")]
    pub fn wait(&self, comparison: Comparison<V>, queue: &impl Queue) -> Result<()> {
        let (stream, at) = (queue.stream(), self.as_raw());
        let (flags, value) = comparison.to_raw();
        self.admit(stream, flags == Flags::CU_STREAM_WAIT_VALUE_NOR)?;
        // SAFETY: as above.
        stream.enqueue(|raw| unsafe { value.wait(at, flags.0, raw, stream.driver()) })
    }

    /// The address of the word, on the host and on devices; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUdeviceptr {
        self.word.as_ref().map_or(0, |word| word.address()) as CUdeviceptr
    }

    /// A write of a value, for a node of a graph: [`Position::words`](crate::graph::Position::words).
    #[must_use]
    pub fn writing(&self, value: V) -> WordOperation {
        self.operation(None, value)
    }

    /// A wait until a comparison holds, for a node of a graph:
    /// [`Position::words`](crate::graph::Position::words).
    #[must_use]
    pub fn waiting(&self, comparison: Comparison<V>) -> WordOperation {
        let (flags, value) = comparison.to_raw();
        self.operation(Some(flags), value)
    }

    fn operation(&self, wait: Option<Flags>, value: V) -> WordOperation {
        WordOperation::new((self.word.clone(), self.context.clone()), (V::BITS, value.to_u64()), wait)
    }

    /// The context of the memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Lets a stream use the word. The first time, its device is asked for its abilities.
    fn admit(&self, stream: &Stream, by_nor: bool) -> Result<()> {
        stream.refuse_captured("a word that streams write and wait for")?;
        let context = stream.context();
        context.check_generation()?;
        self.context.check_generation()?;
        let known = self.users().iter().find(|user| user.stream.is(stream)).map(|user| user.has_nor);
        let has_nor = match known {
            Some(has_nor) => has_nor,
            None => {
                same_driver(self.context.driver(), stream.driver())?;
                refuse_width(V::BITS, context)?;
                let has_nor = has_nor(context)?;
                self.add(User { stream: stream.downgrade(), has_nor });
                has_nor
            }
        };
        if by_nor && !has_nor { Err(no_nor(context)) } else { Ok(()) }
    }

    /// Adds a user, and drops a few that have ended and are done.
    fn add(&self, user: User) {
        let ended: Vec<User> = {
            let mut users = self.users();
            users.push(user);
            users.extract_if(.., |user| user.stream.has_ended()).take(DROPPED).collect()
        };
        // Without the lock. The list is read by the drop of the word, which comes later.
        let rests = ended.into_iter().filter_map(|user| Some(User { stream: user.stream.rest()?, ..user }));
        let rests: Vec<User> = rests.collect();
        self.users().extend(rests);
    }

    fn users(&self) -> MutexGuard<'_, Vec<User>> {
        self.users.lock()
    }
}

impl<V: WordValue> Comparison<V> {
    /// The driver's flag, and the value.
    fn to_raw(self) -> (Flags, V) {
        match self {
            Comparison::AtLeast(value) => (Flags::CU_STREAM_WAIT_VALUE_GEQ, value),
            Comparison::Equal(value) => (Flags::CU_STREAM_WAIT_VALUE_EQ, value),
            Comparison::And(value) => (Flags::CU_STREAM_WAIT_VALUE_AND, value),
            Comparison::Nor(value) => (Flags::CU_STREAM_WAIT_VALUE_NOR, value),
        }
    }
}

/// Refuses 64 bits on a device that has 32 only.
pub(super) fn refuse_width(bits: u32, context: &Context) -> Result<()> {
    let device = context.device();
    if bits == 64 && device.attribute(DeviceAttribute::CanUse64BitStreamMemOps)? == 0 {
        return Err(StreamError::NoWords { device: device.ordinal(), of: "words of 64 bits" }.into());
    }
    Ok(())
}

/// `true` if a device can compare by NOR.
pub(super) fn has_nor(context: &Context) -> Result<bool> {
    Ok(context.device().attribute(DeviceAttribute::CanUseStreamWaitValueNor)? != 0)
}

/// The error of a device that cannot.
pub(super) fn no_nor(context: &Context) -> Error {
    StreamError::NoWords { device: context.device().ordinal(), of: "the comparison NOR" }.into()
}

impl<V: WordValue> Drop for StreamWord<V> {
    /// Gives the word back when the streams that used it have done what they were told so far.
    fn drop(&mut self) {
        // What unwinds before the end leaks the word, which a stream may still use.
        let Some(word) = self.word.take().map(ManuallyDrop::new) else { return };
        let users = std::mem::take(&mut *self.users());
        let _relaxed = RelaxedMode::new(self.context.driver());
        for User { stream, .. } in users.iter().filter(|user| user.stream.context().is_current_generation()) {
            match stream.work() {
                Work::Of(stream) if stream.for_teardown().is_idle() != Ok(true) => {
                    give_back_after(&stream.for_teardown(), &word, &self.context);
                }
                Work::Before(event) if event.is_complete() != Ok(true) => {
                    give_back_after_event(&event, &word, &self.context);
                }
                Work::Of(_) | Work::Before(_) | Work::None => {}
            }
        }
        drop(ManuallyDrop::into_inner(word));
    }
}

/// Gives a word back when it is dropped, by a callback of the driver that wakes nothing.
struct GiveBack {
    _word: Arc<Word>,
    /// The context of its memory, if that is not the context of the callback.
    _other: Option<Context>,
}

impl Wake for GiveBack {
    fn wake(self: Arc<Self>) {}
}

/// Keeps the word until the event is complete. If that cannot be arranged, for good.
#[cold]
fn give_back_after_event(event: &Event, word: &Arc<Word>, home: &Context) {
    let other = (event.context() != home).then(|| home.clone());
    let kept = Arc::new(GiveBack { _word: Arc::clone(word), _other: other });
    if event.context().cached().relays.call_when_done(event, &kept.into()).is_err() {
        // The stream may still use it.
        std::mem::forget(Arc::clone(word));
    }
}

/// Keeps the word until the stream has come to this point. If that cannot be arranged, for good.
#[cold]
fn give_back_after(stream: &Stream, word: &Arc<Word>, home: &Context) {
    if capture::any() && capture::of(stream).is_some() {
        // A host function would become part of the graph.
        return std::mem::forget(Arc::clone(word));
    }
    let kept = Arc::clone(word);
    // The stream's own context stays for as long as it has work; another has to be kept.
    let other = (stream.context() != home).then(|| home.clone());
    let callback = Callback::new(stream.context(), move || drop((kept, other)));
    let driver = stream.driver();
    // SAFETY: `host_function` takes any number for an argument, and finds nothing under one that is not
    // waiting.
    let launch = |raw| unsafe { driver.cuLaunchHostFunc(raw, Some(callback::host_function), callback.data()) };
    if stream.outside_captures(launch).is_ok_and(|launched| launched.is_ok()) {
        return;
    }
    // The stream may still use it.
    std::mem::forget(Arc::clone(word));
    callback.take_back();
}

impl<V: WordValue> fmt::Debug for StreamWord<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = format_args!("{:#x}", self.as_raw());
        let device = self.context.device();
        formatter
            .debug_struct("StreamWord")
            .field("address", &address)
            .field("value", &self.load())
            .field("device", device)
            .finish()
    }
}
