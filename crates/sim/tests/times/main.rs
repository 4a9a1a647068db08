//! Virtual times: kernels, copies and sleeps as events, `%clock64` and `%globaltimer` show them.

mod concurrency;
mod kernels;
mod repeat;
mod support;
