//! Settings of core dumps, of the process and of a context: stored, but no simulated fault writes a dump.

/// `CU_COREDUMP_SKIP_ABORT`: a fault of a kernel does not abort the process.
const SKIP_ABORT: u32 = 1 << 4;
/// `CU_COREDUMP_LIGHTWEIGHT_FLAGS`.
const LIGHTWEIGHT: u32 = 0x2f;

/// The settings of core dumps.
#[derive(Clone, Default)]
pub(crate) struct CoredumpSettings {
    /// Not 0 if a fault writes a dump; the byte is kept as it was given.
    pub(crate) on_exception: u8,
    /// Not 0 if a dump can be asked for through the pipe.
    pub(crate) user_trigger: u8,
    pub(crate) file: String,
    pub(crate) pipe: String,
    /// The parts that are left out of a dump.
    pub(crate) flags: u32,
}

impl CoredumpSettings {
    /// Lets a dump be asked for through the pipe, which means dumps of faults, too.
    pub(crate) fn set_user_trigger(&mut self, value: u8) {
        self.user_trigger = value;
        if value != 0 {
            self.on_exception = 1;
        }
    }

    /// Names the pipe that a process with contexts listens to, unless the program has.
    pub(crate) fn name_pipe(&mut self) {
        if self.user_trigger != 0 && self.pipe.is_empty() {
            let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            self.pipe = format!("corepipe_{}_{}", host.trim_end(), std::process::id());
        }
    }

    /// Lets dumps be asked for through the pipe, for a context that was created to.
    pub(crate) fn listen(&mut self) {
        self.user_trigger = 1;
        self.name_pipe();
    }

    /// The settings of a new context, which may write dumps of its own accord.
    pub(crate) fn of_context(&mut self, writes_dumps: bool) -> Self {
        self.name_pipe();
        let mut settings = self.clone();
        if writes_dumps {
            settings.on_exception = 1;
        }
        settings
    }

    /// `true` if a fault aborts the process.
    pub(crate) fn triggers_host(&self) -> bool {
        self.flags & SKIP_ABORT == 0
    }

    pub(crate) fn set_triggers_host(&mut self, triggers: bool) {
        self.flags = if triggers { self.flags & !SKIP_ABORT } else { self.flags | SKIP_ABORT };
    }

    /// `true` if a dump has no memory in it.
    pub(crate) fn is_lightweight(&self) -> bool {
        self.flags & LIGHTWEIGHT == LIGHTWEIGHT
    }

    pub(crate) fn set_lightweight(&mut self, is_lightweight: bool) {
        self.flags = if is_lightweight { self.flags | LIGHTWEIGHT } else { self.flags & !LIGHTWEIGHT };
    }
}
