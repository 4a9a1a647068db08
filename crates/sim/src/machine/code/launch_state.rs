//! Launch state of a function: block, shared memory and arguments that `cuLaunch` and its variants use.

/// Bytes of arguments that a function can have.
pub(crate) const MOST_ARGUMENT_BYTES: usize = 32764;

/// The configuration of `cuLaunch`, set call by call and kept for later launches.
#[derive(Clone)]
pub(crate) struct LaunchState {
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    /// Bytes of arguments. Those behind them are 0 in a launch.
    pub(crate) size: usize,
    arguments: Vec<u8>,
}

impl Default for LaunchState {
    fn default() -> Self {
        Self { block: [1; 3], shared: 0, size: 0, arguments: Vec::new() }
    }
}

impl LaunchState {
    /// Sets bytes of the arguments; `false` if they are beyond the largest that a function can have.
    pub(crate) fn set_argument(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let end = offset.saturating_add(bytes.len());
        if offset.saturating_add(bytes.len().next_multiple_of(4)) > MOST_ARGUMENT_BYTES {
            return false;
        }
        if self.arguments.len() < end {
            self.arguments.resize(end, 0);
        }
        self.arguments[offset..end].copy_from_slice(bytes);
        true
    }

    /// The arguments of a launch, for a kernel that takes that many bytes.
    pub(crate) fn arguments(&self, bytes: usize) -> Vec<u8> {
        let mut arguments = self.arguments.clone();
        arguments.truncate(self.size);
        arguments.resize(bytes, 0);
        arguments
    }

    /// Takes over the configuration of another launch of the function: launches of all kinds share it.
    pub(crate) fn take_over(&mut self, block: [u32; 3], shared: u32, arguments: &[u8]) {
        *self = Self { block, shared, size: arguments.len(), arguments: arguments.to_vec() };
    }
}
