//! Gates: streams wait at one until the test opens it.

use warploom::{Context, Result, Stream};

/// A gate in front of one stream. Dropping it opens it and waits for the context.
pub(crate) struct Gate {
    context: Context,
    /// There until it is dropped, which needs the context to be current.
    word: Option<warploom_testkit::Gate>,
}

impl Gate {
    /// Holds up work that is enqueued next on a stream.
    pub(crate) fn close(stream: &Stream) -> Result<Gate> {
        let context = stream.context();
        let word = context.scope(|| warploom_testkit::Gate::new(context.driver()))??;
        let held = stream.with_raw(|raw| word.hold(raw));
        let gate = Gate { context: context.clone(), word: Some(word) };
        held??;
        Ok(gate)
    }

    /// Lets the stream go on.
    pub(crate) fn open(&self) {
        self.word.iter().for_each(warploom_testkit::Gate::open);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
        let word = self.word.take();
        self.context.scope(|| drop(word)).unwrap_or_default();
    }
}
