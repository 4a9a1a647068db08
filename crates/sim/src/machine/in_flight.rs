//! Operations in flight, which memory has to outlive.

use warploom_engine::OpId;

use crate::machine::world::Engine;
use crate::memory::InFlight;

impl InFlight for Engine {
    fn newest(&self) -> impl Iterator<Item = OpId> {
        self.all_tails()
    }

    fn is_done(&self, op: OpId) -> bool {
        Engine::is_done(self, op)
    }
}
