//! `None`, a number and a context are not streams (S4.1, S4.3).

use warploom::{Buffer, Context, Result, Stream};

fn none(to: &mut Buffer<u8>) -> Result<()> {
    to.fill(7, &None::<Stream>)
}

fn number(to: &mut Buffer<u8>) -> Result<()> {
    to.fill(7, &0)
}

fn context(to: &mut Buffer<u8>, context: &Context) -> Result<()> {
    to.fill(7, context)
}

fn main() {}
