//! Results of one launch of a kernel.

use serde::Serialize;
use warploom_sim::Finding;

use super::DriverReport;

#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    pub(crate) driver: DriverReport,
    /// The ordinal of the device.
    pub(crate) device: u32,
    pub(crate) file: String,
    pub(crate) kernel: String,
    /// The kernel's name in the source, if the other one is mangled.
    pub(crate) source_name: Option<String>,
    /// The compiler, for CUDA C++.
    pub(crate) compiler: Option<CompilerReport>,
    pub(crate) launch: LaunchReport,
    /// The memory after the run, in the order of the arguments; empty if the kernel faulted.
    pub(crate) memory: Vec<MemoryReport>,
    /// The output of the kernel's `printf` on a simulated machine; a real driver writes it itself.
    pub(crate) output: String,
    /// The error of the launch, or of the kernel.
    pub(crate) error: Option<String>,
    /// `true` if the machine checked the kernel.
    pub(crate) checked: bool,
    pub(crate) findings: Vec<Finding>,
}

/// The compiler of a program.
#[derive(Debug, Serialize)]
pub(crate) struct CompilerReport {
    /// The version of NVRTC.
    pub(crate) nvrtc: String,
    pub(crate) architecture: String,
    /// Warnings.
    pub(crate) log: String,
}

/// A launch and its facts.
#[derive(Debug, Serialize)]
pub(crate) struct LaunchReport {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    /// The time between events around it; `None` if it failed.
    pub(crate) milliseconds: Option<f32>,
    /// `true` if the time is that of a simulated machine.
    pub(crate) virtual_time: bool,
    pub(crate) registers: i32,
    pub(crate) static_shared_bytes: i32,
    pub(crate) local_bytes: i32,
    pub(crate) blocks_per_multiprocessor: u32,
    /// Threads that a multiprocessor runs at once, as a share of its limit.
    pub(crate) occupancy: f64,
}

/// Memory of an argument after the run.
#[derive(Debug, Serialize)]
pub(crate) struct MemoryReport {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) element: &'static str,
    /// Number of values in each dimension, neighbouring values first.
    pub(crate) size: Vec<usize>,
    #[serde(flatten)]
    pub(crate) statistics: Statistics,
    /// All values, if they are to be printed.
    pub(crate) values: Option<Vec<Number>>,
    /// Files with a picture of it.
    pub(crate) pictures: Vec<String>,
}

/// A value of memory. NaN and the infinities are null in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Integer(i128),
    Single(f32),
    Double(f64),
}

/// Statistics of values.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Statistics {
    /// Without those that are NaN.
    pub(crate) min: Option<Number>,
    pub(crate) max: Option<Number>,
    pub(crate) mean: Option<f64>,
    pub(crate) nan: usize,
}

impl Number {
    pub(crate) fn to_float(self) -> f64 {
        match self {
            Number::Integer(integer) => integer as f64,
            Number::Single(float) => float.into(),
            Number::Double(float) => float,
        }
    }

    pub(crate) fn to_integer(self) -> i128 {
        match self {
            Number::Integer(integer) => integer,
            Number::Single(float) => float as i128,
            Number::Double(float) => float as i128,
        }
    }

    fn is_nan(self) -> bool {
        self.to_float().is_nan()
    }

    /// `true` if it is below another number of the same type.
    fn is_below(self, other: Number) -> bool {
        match (self, other) {
            (Number::Integer(one), Number::Integer(other)) => one < other,
            (one, other) => one.to_float() < other.to_float(),
        }
    }
}

impl Statistics {
    /// The statistics of numbers that are gone through once.
    pub(crate) fn of(numbers: impl IntoIterator<Item = Number>) -> Statistics {
        let (mut min, mut max, mut sum, mut count, mut nan) = (None, None, 0.0, 0_u64, 0);
        for number in numbers {
            if number.is_nan() {
                nan += 1;
                continue;
            }
            min = min.filter(|least| !number.is_below(*least)).or(Some(number));
            max = max.filter(|most: &Number| !most.is_below(number)).or(Some(number));
            sum += number.to_float();
            count += 1;
        }
        Statistics { min, max, mean: (count > 0).then(|| sum / count as f64), nan }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_leave_nan_out() {
        let numbers = [3.0, f32::NAN, -1.0, 4.0].map(Number::Single);
        let Statistics { min, max, mean, nan } = Statistics::of(numbers);
        assert_eq!((min, max, mean, nan), (Some(Number::Single(-1.0)), Some(Number::Single(4.0)), Some(2.0), 1));
        let none = Statistics::of([Number::Double(f64::NAN)]);
        assert_eq!((none.min, none.max, none.mean, none.nan), (None, None, None, 1));
    }

    #[test]
    fn large_integers_are_exact() {
        let large = i128::from(u64::MAX);
        let statistics = Statistics::of([Number::Integer(large - 1), Number::Integer(large)]);
        assert_eq!((statistics.min, statistics.max), (Some(Number::Integer(large - 1)), Some(Number::Integer(large))));
    }
}
