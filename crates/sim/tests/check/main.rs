//! What the checks find, and what they leave alone.

mod model;
mod planted;
mod random;
mod reports;
