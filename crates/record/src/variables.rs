//! Environment variables that describe a run to the simulated driver as a shared library.

/// The environment variable that describes the machine.
pub const MACHINE_VARIABLE: &str = "WARPLOOM_MACHINE";

/// The environment variable that says whether the program is checked.
pub const CHECK_VARIABLE: &str = "WARPLOOM_CHECK";

/// The environment variable that says what is looked for among the threads of kernels.
pub const CHECK_KERNELS_VARIABLE: &str = "WARPLOOM_CHECK_KERNELS";

/// The environment variable that says what goes wrong: the path of a plan, or the plan itself.
pub const FAULTS_VARIABLE: &str = "WARPLOOM_FAULTS";

/// The environment variable that says where a report goes when the process exits.
pub const REPORT_VARIABLE: &str = "WARPLOOM_REPORT";

/// The environment variable that says where a timeline goes when the process exits.
pub const TIMELINE_VARIABLE: &str = "WARPLOOM_TIMELINE";

/// The environment variable for the folder into which the process writes its record when it exits.
pub const RECORD_VARIABLE: &str = "WARPLOOM_RECORD";

/// The environment variable for the folder of a run, in which each process leaves a journal.
pub const RUN_VARIABLE: &str = "WARPLOOM_RUN";

/// The environment variable for the order in which work runs.
pub const MODE_VARIABLE: &str = "WARPLOOM_MODE";

/// The environment variable for the number of threads that run the blocks of a kernel.
pub const WORKERS_VARIABLE: &str = "WARPLOOM_WORKERS";

/// The environment variable that limits the host memory that simulated memory takes.
pub const HOST_MEMORY_VARIABLE: &str = "WARPLOOM_HOST_MEMORY";
