//! One test body, every driver.
