//! The checks: bugs that they find, and correct programs that they accept.

mod model;
mod planted;
mod random;
mod reports;
