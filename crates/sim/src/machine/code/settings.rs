//! Settings of a kernel on a device.

/// A program's settings for a kernel on a device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) dynamic_shared: Option<u32>,
    pub(crate) carveout: Option<i32>,
    pub(crate) cluster: [Option<i32>; 3],
    pub(crate) non_portable_cluster: Option<i32>,
    pub(crate) cluster_policy: Option<i32>,
}

impl Settings {
    /// These settings, with unset ones taken from others.
    pub(crate) fn or(self, other: Settings) -> Settings {
        let [width, height, depth] = self.cluster;
        Settings {
            dynamic_shared: self.dynamic_shared.or(other.dynamic_shared),
            carveout: self.carveout.or(other.carveout),
            cluster: [width.or(other.cluster[0]), height.or(other.cluster[1]), depth.or(other.cluster[2])],
            non_portable_cluster: self.non_portable_cluster.or(other.non_portable_cluster),
            cluster_policy: self.cluster_policy.or(other.cluster_policy),
        }
    }

    /// The preferred share of shared memory of a multiprocessor, in percent, if set.
    pub(crate) fn carveout(&self) -> Option<u32> {
        self.carveout.and_then(|percent| u32::try_from(percent).ok())
    }

    /// `true` if cluster sizes beyond the portable limit are allowed.
    pub(crate) fn allows_non_portable(&self) -> bool {
        self.non_portable_cluster.is_some_and(|allowed| allowed != 0)
    }

    /// The cluster dimensions, if set.
    pub(crate) fn cluster(&self) -> Option<[u32; 3]> {
        let set = self.cluster.map(|size| size.unwrap_or(0));
        set.iter().any(|size| *size > 0).then(|| set.map(|size| size.max(1).unsigned_abs()))
    }
}
