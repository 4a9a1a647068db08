//! Events that were recorded without a time have no `elapsed`.

use warploom::{Result, Stream};

fn time(stream: &Stream) -> Result<()> {
    let (start, end) = (stream.record()?, stream.record()?);
    end.elapsed(&start)?;
    Ok(())
}

fn main() {}
