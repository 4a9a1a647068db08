//! Measurements of `warploom bench`.

use serde::Serialize;

use super::DriverReport;

#[derive(Debug, Serialize)]
pub(crate) struct BenchReport {
    pub(crate) driver: DriverReport,
    /// The names of the devices, by ordinal.
    pub(crate) devices: Vec<String>,
    /// `true` if times between events are those of a simulated machine.
    pub(crate) virtual_time: bool,
    pub(crate) bandwidth: Option<BandwidthReport>,
    pub(crate) calls: Option<Vec<CallReport>>,
    pub(crate) kernels: Option<Vec<KernelTime>>,
}

/// Bandwidth of copies, in bytes per second.
#[derive(Debug, Serialize)]
pub(crate) struct BandwidthReport {
    /// Bytes of one copy.
    pub(crate) copy_bytes: usize,
    /// Copies that are timed together.
    pub(crate) copies: usize,
    /// Between page-locked memory of the host and each device.
    pub(crate) host: Vec<HostBandwidth>,
    /// From the first device of a pair to the second, and inside a device.
    pub(crate) devices: Vec<PairBandwidth>,
}

/// Bandwidth between the host and a device.
#[derive(Debug, Serialize)]
pub(crate) struct HostBandwidth {
    pub(crate) device: u32,
    pub(crate) to_device: f64,
    pub(crate) to_host: f64,
    /// The sum of both directions at once.
    pub(crate) both: f64,
}

/// Bandwidth from a device to a device.
#[derive(Debug, Serialize)]
pub(crate) struct PairBandwidth {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) one_way: f64,
    /// The sum of both directions at once; `None` inside a device.
    pub(crate) both: Option<f64>,
    /// `false` if the copies go through the host.
    pub(crate) direct: bool,
}

/// The cost of an operation on the host.
#[derive(Debug, Serialize)]
pub(crate) struct CallReport {
    pub(crate) operation: &'static str,
    /// The median of many rounds.
    pub(crate) nanoseconds: f64,
    /// The fastest round.
    pub(crate) fastest: f64,
    /// Driver calls of one operation.
    pub(crate) driver_calls: f64,
}

/// The time of a kernel.
#[derive(Debug, Serialize)]
pub(crate) struct KernelTime {
    pub(crate) kernel: &'static str,
    /// Its input, in words.
    pub(crate) size: String,
    /// The time between events around a launch: the median.
    pub(crate) milliseconds: f64,
    /// The time on the host from the launch to the end.
    pub(crate) host_milliseconds: f64,
    /// Units of work per second of the time between events.
    pub(crate) rate: f64,
    pub(crate) unit: &'static str,
    /// `true` if the results are as expected.
    pub(crate) correct: bool,
}

impl BandwidthReport {
    /// The bandwidth from a device to a device.
    pub(crate) fn pair(&self, from: usize, to: usize) -> Option<&PairBandwidth> {
        self.devices.iter().find(|pair| (pair.from as usize, pair.to as usize) == (from, to))
    }
}
