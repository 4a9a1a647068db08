//! Log lines about access between contexts.

use warploom_driver::user_code;

use super::{Context, EnableReport, PairReport, PeerOutcome};
use crate::{Device, Error};

const TARGET: &str = "warploom::mesh";

impl EnableReport {
    /// Logs pairs that were enabled just now, and pairs that failed.
    pub(super) fn log(&self) {
        for PairReport { accessor, owner, outcome } in &self.pairs {
            let (accessor, owner, outcome) = (accessor.ordinal(), owner.ordinal(), outcome.clone());
            user_code::emit(move || match outcome {
                PeerOutcome::Enabled => tracing::info!(target: TARGET, accessor, owner, "peer access enabled"),
                PeerOutcome::Failed(error) => {
                    tracing::warn!(target: TARGET, accessor, owner, %error, "peer access not enabled");
                }
                PeerOutcome::AlreadyEnabled | PeerOutcome::NotCapable | PeerOutcome::Undone => {}
            });
        }
    }
}

/// Logs that access was disabled, or why not.
pub(super) fn disabled(accessor: &Device, owner: &Device, failure: Option<&Error>) {
    let (accessor, owner, failure) = (accessor.ordinal(), owner.ordinal(), failure.cloned());
    user_code::emit(move || match failure {
        None => tracing::info!(target: TARGET, accessor, owner, "peer access disabled"),
        Some(error) => tracing::warn!(target: TARGET, accessor, owner, %error, "peer access not disabled"),
    });
}

/// Logs that a device takes part with a new context, because its old one was reset.
pub(super) fn rebuilt(context: &Context) {
    let (device, generation) = (context.device().ordinal(), context.generation());
    user_code::emit(move || tracing::info!(target: TARGET, device, generation, "context rebuilt"));
}
