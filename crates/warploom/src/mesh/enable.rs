//! Enabling and disabling peer access between contexts.

use std::sync::RwLock;
use std::sync::atomic::AtomicBool;

use warploom_driver::sys::types::CUresult;
use warploom_driver::user_code::Mutex;

use super::log;
use super::{Access, Context, EnableReport, Error, Mesh, PairReport, PeerOutcome, Result, State, Topology};
use crate::{ContextError, DeviceRef, PeerError};

impl Mesh {
    /// Enables access between these contexts, as far as the hardware allows, in each direction on its own.
    ///
    /// Exactly one `cuCtxEnablePeerAccess` for each ordered pair that is capable. The report has every
    /// ordered pair and its outcome; access that was enabled before is no error. The current context of the
    /// thread is as before.
    ///
    /// # Errors
    ///
    /// Before any driver call: [`DeviceError::NotInTopology`](crate::DeviceError::NotInTopology) for a
    /// context of another device, [`PeerError::NoContexts`] for none, [`PeerError::TwoContexts`] for two of
    /// the same device, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch),
    /// [`ContextError::Stale`]. The error of a pair is in the report.
    #[doc(alias = "cuCtxEnablePeerAccess")]
    pub fn enable(topology: &Topology, contexts: &[Context]) -> Result<(Mesh, EnableReport)> {
        let mesh = Mesh::of(topology, contexts)?;
        let report = mesh.complete();
        Ok((mesh, report))
    }

    /// As [`Mesh::enable`], or nothing at all: if a capable direction cannot be enabled, the access that this
    /// call has enabled is disabled again.
    ///
    /// # Errors
    ///
    /// As [`Mesh::enable`], and [`PeerError::MeshIncomplete`] with the report. A pair that could not be
    /// disabled again is [`PeerOutcome::Enabled`] in it.
    pub fn enable_strict(topology: &Topology, contexts: &[Context]) -> Result<(Mesh, EnableReport)> {
        let (mesh, mut report) = Mesh::enable(topology, contexts)?;
        if report.failures().next().is_none() {
            return Ok((mesh, report));
        }
        let left = mesh.disable_all();
        for pair in report.pairs.iter_mut().filter(|pair| pair.outcome == PeerOutcome::Enabled) {
            if !left.iter().any(|(accessor, owner, _)| *accessor == pair.accessor && *owner == pair.owner) {
                pair.outcome = PeerOutcome::Undone;
            }
        }
        Err(Error::Peer(PeerError::MeshIncomplete { report: Box::new(report) }))
    }

    /// Disables the access that this mesh has enabled; access that was enabled before stays. From here on the
    /// mesh counts on no access; doing it again does nothing.
    ///
    /// Work that was enqueued before ends first: where a device has used memory of another, all contexts of
    /// both are waited for. Where none has, there is no wait. Work that another thread enqueues meanwhile is
    /// not waited for.
    ///
    /// # Errors
    ///
    /// The driver's error, of the first pair that could not be disabled. The others are, and doing it again
    /// tries again. An error of the wait, which may be a failure of the work, and
    /// [`CaptureError::Context`](crate::CaptureError::Context) while a stream of such a context is captured;
    /// then nothing was disabled.
    #[doc(alias = "cuCtxDisablePeerAccess")]
    pub fn disable(&self) -> Result<()> {
        self.wait_for_use()?;
        self.first_failure()
    }

    /// As [`Mesh::disable`], at once.
    ///
    /// # Errors
    ///
    /// The driver's error, as of [`Mesh::disable`].
    ///
    /// # Safety
    ///
    /// No work that was enqueued uses memory of another device by the access that this mesh has enabled: it
    /// would access memory that is no longer mapped, and its context could not be used from then on.
    pub unsafe fn disable_now(&self) -> Result<()> {
        self.first_failure()
    }

    /// Waits for work that may use access which this mesh has enabled. The work may depend on a thread that
    /// uses this very mesh, so that no lock is held.
    fn wait_for_use(&self) -> Result<()> {
        let state = self.state().clone();
        for (owner, context) in state.contexts.iter().enumerate() {
            let Some(device) = context.as_ref().map(Context::device) else { continue };
            let is_used = |(accessor, other): (usize, &Option<Context>)| {
                let is_ours =
                    state.access[state.at(accessor, owner)] == Access::Ours && state.is_enabled(accessor, owner);
                is_ours && other.as_ref().is_some_and(|other| device.has_accessor(other.device()))
            };
            if state.contexts.iter().enumerate().any(is_used) {
                device.wait_for_accessors()?;
            }
        }
        Ok(())
    }

    fn first_failure(&self) -> Result<()> {
        self.disable_all().into_iter().next().map_or(Ok(()), |(.., error)| Err(error))
    }

    /// Enables missing access again: after a primary context was reset, by this crate or by others, its
    /// device takes part with its new one. Pairs that have access are left alone: also those of contexts that
    /// were created, which a reset does not end. See also [`Mesh::set_auto_refresh`].
    ///
    /// The driver is asked for the identity of each context.
    ///
    /// # Errors
    ///
    /// The driver's error about the contexts; then nothing has been enabled. The error of a pair is in the
    /// report.
    pub fn refresh(&self) -> Result<EnableReport> {
        let lock = self.lock();
        let mut state = self.state().clone();
        for at in 0..state.contexts.len() {
            let Some(context) = &state.contexts[at] else { continue };
            match context.check() {
                Ok(()) => {}
                Err(Error::Context(ContextError::Stale { .. })) => {
                    let renewed = context.device().context()?;
                    log::rebuilt(&renewed);
                    state.contexts[at] = Some(renewed);
                    state.forget(at);
                }
                Err(error) => return Err(error),
            }
        }
        self.replace(state);
        drop(lock);
        Ok(self.complete())
    }

    /// `true` if the mesh has access from one device to memory of another; a device always has to its own. No
    /// driver call.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotInTopology`](crate::DeviceError::NotInTopology) for a device that is not in the
    /// topology.
    pub fn is_enabled(&self, accessor: impl Into<DeviceRef>, owner: impl Into<DeviceRef>) -> Result<bool> {
        let position = |device: DeviceRef| self.topology.position(&device);
        let (accessor, owner) = (position(accessor.into())?, position(owner.into())?);
        Ok(accessor == owner || self.state().is_enabled(accessor, owner))
    }

    /// A mesh in which nothing is enabled.
    pub(super) fn of(topology: &Topology, contexts: &[Context]) -> Result<Mesh> {
        if contexts.is_empty() {
            return Err(PeerError::NoContexts.into());
        }
        let size = topology.devices().len();
        let mut seats: Vec<Option<Context>> = vec![None; size];
        for context in contexts {
            let at = topology.position(&context.device().into())?;
            context.check_generation()?;
            if seats[at].replace(context.clone()).is_some() {
                return Err(PeerError::TwoContexts { device: context.device().ordinal() }.into());
            }
        }
        let state = State { contexts: seats, access: vec![Access::None; size * size] };
        let (changes, state, is_auto_refreshed) = (Mutex::default(), RwLock::new(state), AtomicBool::new(false));
        Ok(Mesh { topology: topology.clone(), changes, state, is_auto_refreshed })
    }

    /// Enables all capable pairs that are not enabled, and reports on all pairs.
    pub(super) fn complete(&self) -> EnableReport {
        let _lock = self.lock();
        let mut state = self.state().clone();
        let mut pairs = Vec::new();
        for (accessor, context) in state.contexts.clone().iter().enumerate() {
            let Some(context) = context else { continue };
            self.complete_row(accessor, context, &mut state, &mut pairs);
        }
        self.replace(state);
        let report = EnableReport { pairs };
        report.log();
        report
    }

    /// All pairs of one accessor, whose context is made current once, and only if there is access to enable.
    fn complete_row(&self, accessor: usize, context: &Context, state: &mut State, pairs: &mut Vec<PairReport>) {
        let mut current = None;
        for owner in (0..state.contexts.len()).filter(|owner| *owner != accessor) {
            let Some(peer) = state.contexts[owner].clone() else { continue };
            let at = state.at(accessor, owner);
            let outcome = match self.topology.capability(accessor, owner) {
                _ if state.is_enabled(accessor, owner) => PeerOutcome::AlreadyEnabled,
                Ok(false) => PeerOutcome::NotCapable,
                Err(error) => PeerOutcome::Failed(error.clone()),
                Ok(true) => match current.get_or_insert_with(|| context.current()) {
                    Ok(_current) => enable(context, &peer),
                    Err(error) => PeerOutcome::Failed(error.clone()),
                },
            };
            state.access[at] = match outcome {
                PeerOutcome::Enabled => Access::Ours,
                PeerOutcome::AlreadyEnabled if state.access[at] == Access::None => Access::Others,
                PeerOutcome::AlreadyEnabled => state.access[at],
                _ => Access::None,
            };
            let (accessor, owner) = (context.device().clone(), peer.device().clone());
            pairs.push(PairReport { accessor, owner, outcome });
        }
    }

    /// Disables the pairs enabled here, and returns the pairs that failed.
    fn disable_all(&self) -> Vec<(crate::Device, crate::Device, Error)> {
        let _lock = self.lock();
        let mut state = self.state().clone();
        let mut left = Vec::new();
        for (accessor, context) in state.contexts.clone().iter().enumerate() {
            let Some(context) = context else { continue };
            let mut current = None;
            for owner in 0..state.contexts.len() {
                let at = state.at(accessor, owner);
                let is_ours = state.access[at] == Access::Ours && state.is_enabled(accessor, owner);
                let Some(peer) = state.contexts[owner].as_ref().filter(|_| is_ours) else {
                    state.access[at] = Access::None;
                    continue;
                };
                let disabled = match current.get_or_insert_with(|| context.current()) {
                    Ok(_current) => disable(context, peer),
                    Err(error) => Err(error.clone()),
                };
                log::disabled(context.device(), peer.device(), disabled.as_ref().err());
                match disabled {
                    Ok(()) => state.access[at] = Access::None,
                    Err(error) => left.push((context.device().clone(), peer.device().clone(), error)),
                }
            }
        }
        self.replace(state);
        left
    }
}

impl State {
    /// Forgets all access from and to a context.
    fn forget(&mut self, at: usize) {
        for other in 0..self.contexts.len() {
            let (to, from) = (self.at(at, other), self.at(other, at));
            self.access[to] = Access::None;
            self.access[from] = Access::None;
        }
    }
}

/// Enables access from the current context, which is that of `accessor`, to memory of `owner`.
fn enable(accessor: &Context, owner: &Context) -> PeerOutcome {
    if let Err(error) = owner.check_generation() {
        return PeerOutcome::Failed(error);
    }
    let (from, to) = (accessor.device().ordinal(), owner.device().ordinal());
    // SAFETY: the accessor is current, and the owner's context is alive; both are held.
    let Err(error) = (unsafe { accessor.driver().cuCtxEnablePeerAccess(owner.as_raw(), 0) }) else {
        return PeerOutcome::Enabled;
    };
    match error.code() {
        Some(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) => PeerOutcome::AlreadyEnabled,
        Some(CUresult::CUDA_ERROR_TOO_MANY_PEERS) => PeerOutcome::Failed(Error::Peer(PeerError::TooMany { from, to })),
        Some(CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) => {
            PeerOutcome::Failed(Error::Peer(PeerError::Unsupported { owner: to, peers: vec![from] }))
        }
        _ => PeerOutcome::Failed(error.into()),
    }
}

/// Disables access from the current context, which is that of `accessor`, to memory of `owner`.
fn disable(accessor: &Context, owner: &Context) -> Result<()> {
    // SAFETY: the accessor is current, and the owner's context is alive; both are held.
    match unsafe { accessor.driver().cuCtxDisablePeerAccess(owner.as_raw()) } {
        Err(error) if error.code() != Some(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED) => Err(error.into()),
        _ => Ok(()),
    }
}
