//! The NCCL library.
#![expect(unsafe_code, reason = "calls NCCL, and takes functions that the caller vouches for")]

use std::ffi::{CStr, c_int};
use std::fmt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use super::raw::{NCCL_UNIQUE_ID_BYTES, NcclTable, ncclComm_t, ncclResult_t, ncclUniqueId};
use super::{Group, NcclCode, NcclError, NcclVersion, UniqueId};
use crate::{Context, Driver, Result, dynamic_library};

/// NCCL, loaded when the program runs.
///
/// A clone is another handle to the same library.
///
/// ```no_run
/// use warploom::nccl::{Nccl, Reduction};
/// use warploom::{DevicePool, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (driver, nccl) = (Driver::load()?, Nccl::load()?);
/// let context = driver.device(0)?.context()?;
/// let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
///
/// let communicator = nccl.join_local(&context, &nccl.local_id(1)?, 0)?; // rank 0 of 1
/// let mut numbers = pool.upload(&[1.0_f32, 2.0, 3.0], &stream)?;
/// communicator.all_reduce_in_place(&mut numbers, Reduction::Sum, &stream)?;
/// assert_eq!(numbers.download(&stream)?, [1.0, 2.0, 3.0]);
/// communicator.close()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Nccl {
    shared: Arc<Shared>,
}

struct Shared {
    table: NcclTable,
    version: NcclVersion,
    /// The driver that it works with; `None` if that is the system's, which it finds by itself.
    driver: Option<Driver>,
}

/// The polling interval, if the environment has set NCCL to be non-blocking.
const PAUSE: Duration = Duration::from_micros(50);

impl Nccl {
    /// The system's NCCL.
    ///
    /// Looks for `libnccl.so.2` by way of the dynamic loader, then in folders that distributions use, in
    /// those of a toolkit (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`) and in an active environment of
    /// Python or Conda (`VIRTUAL_ENV`, `CONDA_PREFIX`), where the wheels put it. If the environment variable
    /// `WARPLOOM_NCCL` names a library, that one is taken and nothing else is looked for. These variables are
    /// trusted like the loader's own. A library once taken stays loaded until the process ends.
    ///
    /// # Errors
    ///
    /// [`NcclError::NotFound`] with everything that was tried and how to get it, [`NcclError::NotNccl`] and
    /// [`NcclError::TooOld`] for a library that does not do, and NCCL's error.
    #[doc(alias = "libnccl")]
    pub fn load() -> Result<Nccl> {
        Nccl::new(dynamic_library::system()?, None)
    }

    /// NCCL in the library `path`. A bare file name is left to the dynamic loader to find.
    ///
    /// # Errors
    ///
    /// As [`Nccl::load`].
    ///
    /// # Safety
    ///
    /// If `path` is a library, loading it does no harm, and if it has the functions of NCCL, they are those.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<Nccl> {
        // SAFETY: the caller vouches for the library.
        Nccl::new(unsafe { dynamic_library::library(path.as_ref()) }?, None)
    }

    /// An NCCL of the caller's own, which works with `driver`: a stand-in for tests, or a library that was
    /// linked.
    ///
    /// # Errors
    ///
    /// [`NcclError::TooOld`], and the errors of its functions.
    ///
    /// # Safety
    ///
    /// The functions behave as those of NCCL, on contexts and streams of this driver, until the process ends.
    pub unsafe fn from_table(table: NcclTable, driver: &Driver) -> Result<Nccl> {
        Nccl::new(table, Some(driver.clone()))
    }

    fn new(table: NcclTable, driver: Option<Driver>) -> Result<Nccl> {
        let mut raw = 0;
        // SAFETY: `raw` is writable.
        let code = unsafe { (table.ncclGetVersion)(&raw mut raw) };
        let version = NcclVersion::from_raw(raw);
        let nccl = Nccl { shared: Arc::new(Shared { table, version, driver }) };
        nccl.answer("ncclGetVersion", code)?;
        if version < NcclVersion::OLDEST {
            return Err(NcclError::TooOld { have: version }.into());
        }
        Ok(nccl)
    }

    /// Its version.
    #[doc(alias = "ncclGetVersion")]
    #[must_use]
    pub fn version(&self) -> NcclVersion {
        self.shared.version
    }

    /// A new id, by which the ranks of one communicator find each other. One of them makes it and hands it to
    /// the others; see [`UniqueId`].
    ///
    /// # Errors
    ///
    /// NCCL's error.
    #[doc(alias = "ncclGetUniqueId")]
    pub fn unique_id(&self) -> Result<UniqueId> {
        let mut id = ncclUniqueId { internal: [0; NCCL_UNIQUE_ID_BYTES] };
        // SAFETY: `id` is writable.
        let code = unsafe { (self.table().ncclGetUniqueId)(&raw mut id) };
        self.answer("ncclGetUniqueId", code)?;
        Ok(UniqueId::from_raw(id))
    }

    /// An empty group; see [`Group`].
    pub fn group<'a>(&self) -> Group<'a> {
        Group::new(self)
    }

    pub(super) fn table(&self) -> &NcclTable {
        &self.shared.table
    }

    pub(super) fn is(&self, other: &Nccl) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Refuses contexts that NCCL cannot work in.
    pub(super) fn serves(&self, context: &Context) -> Result<()> {
        let driver = context.driver();
        let is_its_own = self.shared.driver.as_ref().map_or(driver.is_library(), |own| own.ptr_eq(driver));
        if !is_its_own {
            return Err(NcclError::OtherDriver { driver: driver.description().to_owned() }.into());
        }
        if !context.is_primary() {
            return Err(NcclError::NotPrimary { device: context.device().ordinal() }.into());
        }
        context.check_generation()
    }

    /// The status of a call as a result.
    pub(super) fn answer(&self, function: &'static str, code: ncclResult_t) -> Result<()> {
        match NcclCode(code) {
            NcclCode::SUCCESS => Ok(()),
            code => Err(NcclError::Call { function, code, detail: self.last_error() }.into()),
        }
    }

    /// NCCL's last error message on this thread.
    pub(super) fn last_error(&self) -> String {
        // SAFETY: without a communicator, it is about the thread.
        let text = unsafe { (self.table().ncclGetLastError)(null_mut()) };
        if text.is_null() {
            return String::from("NCCL says nothing more");
        }
        // SAFETY: NCCL gives a text with an end, which stays until the thread calls NCCL again.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// The final status of the call that answered `code`. Where the environment has told NCCL not to block,
    /// that is known later.
    ///
    /// # Safety
    ///
    /// The communicator is alive, unless it is null.
    pub(super) unsafe fn outcome(&self, communicator: ncclComm_t, mut code: c_int) -> c_int {
        while NcclCode(code) == NcclCode::IN_PROGRESS && !communicator.is_null() {
            std::thread::sleep(PAUSE);
            let mut now = code;
            // SAFETY: the caller vouches for the communicator, and `now` is writable.
            let asked = unsafe { (self.table().ncclCommGetAsyncError)(communicator, &raw mut now) };
            code = if NcclCode(asked) == NcclCode::SUCCESS { now } else { asked };
        }
        code
    }
}

impl fmt::Debug for Nccl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = format_args!("{}", self.version());
        formatter.debug_struct("Nccl").field("version", &version).finish_non_exhaustive()
    }
}
