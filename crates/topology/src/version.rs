//! Driver versions: `major * 1000 + minor * 10`, written `"12.2"` in files.

/// The oldest driver a machine can have, 11.4.
pub const OLDEST_DRIVER: i32 = 11040;
/// The newest driver a machine can have, 13.4.
pub const NEWEST_DRIVER: i32 = 13040;
/// The driver of a machine that names none, 13.0.
pub const DEFAULT_DRIVER: i32 = 13000;

/// The version as `12.2`.
pub(super) fn format(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}
