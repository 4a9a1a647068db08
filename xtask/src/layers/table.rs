//! The allowed arrows: between crates, and between the layers of a crate.

/// A crate or a layer, and everything that it may use.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) may_use: &'static [&'static str],
    /// Its job, which is the reason for its arrows.
    pub(crate) job: &'static str,
}

/// The top-level modules of a crate, from the top down. Every module above must have a row.
#[derive(Debug)]
pub(crate) struct Layers {
    /// The crate's folder.
    pub(crate) of: &'static str,
    pub(crate) rows: &'static [Row],
}

const fn row(name: &'static str, may_use: &'static [&'static str], job: &'static str) -> Row {
    Row { name, may_use, job }
}

/// Crates by folder, and their dependencies among each other. Dependencies of tests are free.
pub(crate) const CRATES: &[Row] = &[
    row("cli", &["command", "libcuda", "preload", "embed"], "the `warploom` program; carries the shared libraries"),
    row("command", &["warploom", "page", "sim", "ptx", "record"], "the commands of the program"),
    row("testkit-core", &["testkit", "warploom"], "the testkit with the core's driver; never published"),
    row("testkit", &["driver", "sim", "sys", "test"], "one test body, every driver; never published"),
    row("test", &["driver", "sim", "sys", "test-macros"], "tests of programs on simulated machines"),
    row("test-macros", &[], "the attribute of tests"),
    row("libcuda", &["record", "sim", "sys"], "the simulator as a shared library"),
    row("preload", &[], "NVRTC and nvJitLink keep PTX in cubins; nothing of ours"),
    row("embed", &[], "the shared library of a dependency, for the command"),
    row("warploom", &["derive", "driver"], "the safe core; never names the simulator"),
    row("derive", &[], "derive macros of the core"),
    row("driver", &["sys"], "finds a driver, turns status into `Result`"),
    row("page", &["record"], "the HTML page of recorded runs"),
    row("sim", &["bytes", "engine", "ptx", "record", "sys", "topology"], "the simulated driver"),
    row("record", &[], "records of runs, as data; nothing of CUDA's API"),
    row("engine", &[], "ordered work; no CUDA"),
    row("ptx", &["bytes"], "parses, checks and runs PTX; nothing of CUDA's API"),
    row("bytes", &[], "accesses to memory that threads may race for"),
    row("topology", &[], "machine descriptions; no driver behaviour"),
    row("sys", &[], "C types and the list of functions; no behaviour"),
    row("xtask", &[], "chores"),
];

/// Crates whose folders are layers.
pub(crate) const LAYERS: &[Layers] = &[
    Layers {
        of: "sim",
        rows: &[
            row(
                "instance",
                &[
                    "abi", "machine", "check", "memory", "fault", "trace", "process", "ffi", "engine", "record",
                    "topology", "sys",
                ],
                "a machine as its owner sees it: puts the layers together",
            ),
            row(
                "abi",
                &[
                    "api", "machine", "check", "memory", "fault", "trace", "process", "rules", "ffi", "engine",
                    "topology", "sys",
                ],
                "the C boundary: entry points; calls are counted, traced and made to fail here",
            ),
            row(
                "api",
                &["machine", "check", "memory", "process", "ffi", "bytes", "engine", "ptx", "topology", "sys"],
                "one folder per family of driver functions: its entry points",
            ),
            row(
                "machine",
                &["check", "memory", "fault", "trace", "process", "ffi", "engine", "ptx", "record", "topology", "sys"],
                "the state of a machine, its lifecycle and executors; the trace hooks in at the end of ops",
            ),
            row(
                "check",
                &["memory", "ffi", "engine", "ptx", "topology", "sys"],
                "checks of streams, kernels and memory, and their reports",
            ),
            row(
                "fault",
                &["memory", "process", "rules", "ffi", "engine", "topology", "sys"],
                "fault plans: rules, budgets and their files; budgets are of a memory",
            ),
            row(
                "trace",
                &["memory", "process", "ffi", "engine", "record", "topology", "sys"],
                "recorded calls and work; copies are between memories",
            ),
            row(
                "memory",
                &["ffi", "bytes", "engine", "topology", "sys"],
                "address space, allocations, residency, shadow memory with the engine's epochs",
            ),
            row("process", &["ffi", "sys"], "the process and its threads: fork, current contexts"),
            row("rules", &["sys"], "facts about each driver function, a row each"),
            row("ffi", &["sys"], "checked pointers, handles and status codes of C"),
        ],
    },
    Layers {
        of: "ptx",
        rows: &[
            row(
                "exec",
                &["device", "program", "arith", "lanes", "error", "bytes"],
                "runs a decoded kernel on a device",
            ),
            row("race", &["device", "program", "lanes", "error"], "data races inside a kernel, seen by the device"),
            row(
                "device",
                &["program", "lanes", "error", "bytes"],
                "the interface between a kernel and its device: memory, launch, traps",
            ),
            row("link", &["program", "syntax", "error"], "several modules as one, which must be a program"),
            row("program", &["syntax", "arith", "lanes", "error"], "a checked module, decoded for running"),
            row("arith", &["error"], "PTX arithmetic on bits"),
            row("lanes", &[], "the lanes of a warp and their masks"),
            row("syntax", &["error"], "PTX text as a tree"),
            row("error", &[], "errors with their place in the text"),
        ],
    },
];

/// Crates whose modules must not form a cycle in any folder.
pub(crate) const WITHOUT_CYCLES: &[&str] = &["sim", "ptx", "engine", "topology"];
