//! Which machine the library is.

use warploom_sim::trace::Trace;
use warploom_sim::{Machine, StartError};

use crate::settings::Settings;

/// Starts the machine that settings ask for; it records what they want to know in the end.
pub(crate) fn start(settings: &Settings) -> Result<Machine, StartError> {
    // Whatever the program passes, it should be told, and not end somewhere inside this library.
    let builder = Machine::builder().topology(settings.topology.clone()).check_pointers(true);
    let builder = match (&settings.timeline, &settings.report) {
        (Some(_), _) => builder.trace(Trace::timeline()),
        (None, Some(_)) => builder.trace(Trace::counts()),
        (None, None) => builder,
    };
    builder.start()
}
