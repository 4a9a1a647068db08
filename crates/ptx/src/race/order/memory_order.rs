//! Memory order of an instruction, by its modifiers.

/// The memory order of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryOrder {
    /// A release: accesses before it happen before those of a thread that reads the written value.
    pub(crate) releases: bool,
    /// An acquire: accesses that the read value releases happen before those behind it.
    pub(crate) acquires: bool,
    /// It reaches beyond the block.
    pub(crate) wide: bool,
    /// A compare-and-swap: the expected value may come from a racy read.
    pub(crate) swaps: bool,
    /// It asks for a copy that runs beside the thread.
    pub(crate) copies: bool,
    /// Its accesses are those of the asynchronous proxy.
    pub(crate) is_bulk: bool,
    /// It makes writes visible to that proxy: those to shared memory, those to global memory.
    pub(crate) publishes: [bool; 2],
    /// It arrives at an `mbarrier` when such copies are over.
    pub(crate) arrives_after_copies: bool,
}

impl MemoryOrder {
    /// By opcode and modifiers: `atom.acq_rel.gpu.global.add.u32`.
    pub(crate) fn of(name: &str) -> Self {
        let has = |wanted: &str| name.split('.').any(|word| word == wanted);
        let is_barrier = has("mbarrier");
        let is_wait = has("test_wait") || has("try_wait");
        let is_copy = name.starts_with("cp.async.");
        let is_bulk = has("async") && (has("mbarrier::complete_tx::bytes") || has("bulk_group"));
        let is_proxy_fence = has("proxy") && (has("async") || has("async::generic"));
        let is_shared = has("shared::cta") || has("shared::cluster") || has("async::generic");
        Self {
            releases: has("release") || has("acq_rel") || is_barrier && !is_wait && !has("relaxed"),
            acquires: has("acquire") || has("acq_rel") || is_barrier && is_wait && !has("relaxed"),
            wide: !has("cta"),
            swaps: has("cas"),
            copies: is_copy && has("global") && !is_bulk,
            is_bulk,
            publishes: [is_proxy_fence && !has("global"), is_proxy_fence && !is_shared],
            arrives_after_copies: is_copy && is_barrier,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_memory_is_ordered() {
        let of = |name| {
            let MemoryOrder { releases, acquires, wide, .. } = MemoryOrder::of(name);
            (releases, acquires, wide)
        };
        assert_eq!(of("atom.global.add.u32"), (false, false, true));
        assert_eq!(of("atom.acq_rel.gpu.global.add.u32"), (true, true, true));
        assert_eq!(of("st.release.cta.global.u32"), (true, false, false));
        assert_eq!(of("ld.acquire.sys.global.u32"), (false, true, true));
        assert_eq!(of("membar.cta"), (false, false, false));
        assert_eq!(of("membar.gl"), (false, false, true));
        assert_eq!(of("mbarrier.arrive.shared.b64"), (true, false, true));
        assert_eq!(of("mbarrier.test_wait.shared.b64"), (false, true, true));
        assert_eq!(of("cp.async.mbarrier.arrive.noinc.shared.b64"), (true, false, true));
    }

    #[test]
    fn copies_are_told_from_arrivals_after_copies() {
        let of = |name| (MemoryOrder::of(name).copies, MemoryOrder::of(name).arrives_after_copies);
        assert_eq!(of("cp.async.ca.shared.global.L2::128B"), (true, false));
        assert_eq!(of("cp.async.mbarrier.arrive.noinc.shared.b64"), (false, true));
        assert_eq!((of("cp.async.wait_all"), of("ld.global.u32")), ((false, false), (false, false)));
    }

    #[test]
    fn copies_of_the_asynchronous_proxy_are_told_from_those_of_threads() {
        let of = |name| (MemoryOrder::of(name).copies, MemoryOrder::of(name).is_bulk);
        assert_eq!(of("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"), (false, true));
        assert_eq!(of("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"), (false, true));
        assert_eq!(of("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32"), (false, true));
        assert_eq!(
            (of("cp.async.bulk.commit_group"), of("cp.async.bulk.wait_group")),
            ((false, false), (false, false))
        );
        let publishes = |name| MemoryOrder::of(name).publishes;
        assert_eq!((publishes("fence.proxy.async"), publishes("fence.proxy.alias")), ([true; 2], [false; 2]));
        assert_eq!(publishes("fence.proxy.async.shared::cta"), [true, false]);
        assert_eq!(publishes("fence.proxy.async.global"), [false, true]);
    }

    #[test]
    fn a_swap_is_told_from_other_changes() {
        assert!(MemoryOrder::of("atom.global.cas.b32").swaps && !MemoryOrder::of("atom.global.exch.b32").swaps);
    }
}
