//! Driver calls in real time, as columns.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::delta;

/// One driver call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The name of the function.
    pub function: &'a str,
    /// The name of the code that it returned, such as `CUDA_SUCCESS`.
    pub code: &'a str,
    /// Its number among the calls of the process, from 1; 0 for calls that only find functions.
    pub number: u64,
    /// The number of the thread.
    pub thread: u64,
    /// Its start, in nanoseconds since the machine was started.
    pub start_ns: u64,
    /// Its duration.
    pub time_ns: u64,
}

/// Calls, one column for each of their fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// Names of functions and codes, which the columns name by their index.
    pub(crate) names: Vec<String>,
    pub(crate) function: Vec<u32>,
    pub(crate) code: Vec<u32>,
    #[serde(with = "delta")]
    pub(crate) number: Vec<u64>,
    pub(crate) thread: Vec<u64>,
    #[serde(with = "delta")]
    pub(crate) start: Vec<u64>,
    pub(crate) time: Vec<u64>,
}

impl Calls {
    /// The calls of a process, in the order of their starts.
    #[must_use]
    pub fn of<'a>(calls: impl IntoIterator<Item = Call<'a>>) -> Self {
        let mut all = Self::default();
        let mut indexes = HashMap::new();
        for Call { function, code, number, thread, start_ns, time_ns } in calls {
            let [function, code] = [function, code].map(|name| {
                *indexes.entry(name).or_insert_with(|| {
                    all.names.push(name.to_owned());
                    all.names.len() as u32 - 1
                })
            });
            all.function.push(function);
            all.code.push(code);
            all.number.push(number);
            all.thread.push(thread);
            all.start.push(start_ns);
            all.time.push(time_ns);
        }
        all
    }

    /// Number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.number.len()
    }

    /// `true` if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.number.is_empty()
    }

    /// The calls, one by one.
    pub fn iter(&self) -> impl Iterator<Item = Call<'_>> + '_ {
        let name = |index: u32| self.names.get(index as usize).map_or("", String::as_str);
        (0..self.len()).map(move |index| Call {
            function: name(self.function[index]),
            code: name(self.code[index]),
            number: self.number[index],
            thread: self.thread[index],
            start_ns: self.start[index],
            time_ns: self.time[index],
        })
    }
}
