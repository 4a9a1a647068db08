//! Graphs as DOT text, for Graphviz.
#![expect(unsafe_code, reason = "has the driver write a file")]

use std::ffi::CString;
use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use warploom_driver::sys::types::CUgraphDebugDot_flags;

use super::{GraphDef, GraphError};
use crate::Result;

macro_rules! flags {
    ($($(#[doc = $doc:literal])* $name:ident = $raw:ident;)*) => {
        /// Details that DOT text shows, to be combined. By default there are none but kinds and edges.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[must_use]
        pub struct DotFlags(u32);

        impl DotFlags {
            /// Kinds of nodes and edges alone.
            pub fn new() -> DotFlags {
                DotFlags(0)
            }

            $(
                $(#[doc = $doc])*
                pub fn $name(self) -> DotFlags {
                    DotFlags(self.0 | CUgraphDebugDot_flags::$raw.0)
                }
            )*
        }
    };
}
flags! {
    /// Everything.
    verbose = CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE;
    /// The names of the CUDA runtime instead of the driver's.
    runtime_types = CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES;
    /// Parameters of kernel nodes.
    kernel_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS;
    /// Parameters of copy nodes.
    copy_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS;
    /// Parameters of fill nodes.
    fill_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS;
    /// Parameters of host nodes.
    host_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS;
    /// Parameters of event nodes.
    event_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS;
    /// Parameters of nodes that signal external semaphores.
    signal_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_SIGNAL_NODE_PARAMS;
    /// Parameters of nodes that wait for external semaphores.
    wait_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_WAIT_NODE_PARAMS;
    /// Attributes of kernel nodes.
    kernel_attributes = CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES;
    /// Handles of nodes and kernels.
    handles = CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES;
    /// Parameters of alloc nodes.
    alloc_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS;
    /// Parameters of free nodes.
    free_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS;
    /// Parameters of nodes that write or wait for values.
    value_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS;
    /// Data of the edges.
    edge_data = CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO;
    /// Parameters of conditional nodes.
    conditional_parameters = CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS;
}

impl GraphDef {
    /// Writes the graph as DOT text to a file, for Graphviz.
    ///
    /// # Errors
    ///
    /// [`GraphError::Path`] if the path cannot be passed on, [`GraphError::GraphDestroyed`], and
    /// [`GraphError::NotWritten`] with the driver's error.
    #[doc(alias = "cuGraphDebugDotPrint")]
    pub fn write_dot(&self, path: impl AsRef<Path>, flags: DotFlags) -> Result<()> {
        let path = path.as_ref();
        let text = path.to_str().and_then(|text| CString::new(text).ok());
        let text = text.ok_or_else(|| GraphError::Path { path: path.to_owned() })?;
        let locked = self.lock();
        let graph = locked.graph(self.id())?;
        // SAFETY: the graph is alive, and the path is terminated.
        let written = unsafe { locked.driver().cuGraphDebugDotPrint(graph, text.as_ptr(), flags.0) };
        Ok(written.map_err(|error| GraphError::NotWritten { path: path.to_owned(), error })?)
    }

    /// The graph as DOT text, for Graphviz. It is written to a file in a new folder, which only this user can
    /// enter, and read again.
    ///
    /// # Errors
    ///
    /// [`GraphError::Dot`] if there can be no such folder or the file cannot be read, and as
    /// [`GraphDef::write_dot`].
    pub fn dot(&self, flags: DotFlags) -> Result<String> {
        let failed = |error: io::Error| GraphError::Dot { message: error.to_string().into() };
        let folder = TemporaryFolder::new().map_err(failed)?;
        let path = folder.0.join("graph.dot");
        self.write_dot(&path, flags)?;
        Ok(fs::read_to_string(&path).map_err(failed)?)
    }
}

/// A folder of this user's alone, which is removed when it is dropped.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes it anew: a name that is there already, as a link or otherwise, is not taken.
    fn new() -> io::Result<TemporaryFolder> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        loop {
            let number = RandomState::new().hash_one(std::process::id());
            let path = std::env::temp_dir().join(format!("warploom-{number:016x}"));
            match builder.create(&path) {
                Ok(()) => return Ok(TemporaryFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, as all temporary files are.
        fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}
