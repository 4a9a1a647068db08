//! `.loc`: the source line of the instructions behind it.

use super::Parser;
use crate::error::Error;
use crate::syntax::Location;

impl<'t> Parser<'t> {
    /// `.loc 1 23 5, function_name $L__info_string0+4, inlined_at 1 40 3`
    pub(super) fn location(&mut self) -> Result<Location<'t>, Error> {
        let place = self.expect(".loc")?.place;
        let source = self.position()?;
        let mut location = Location { place, source, function: None, inlined_at: None };
        while self.take(",")? {
            let word = self.next()?;
            match word.text {
                "function_name" => {
                    let label = self.expect_name("a label in .debug_str")?.text;
                    let offset = if self.take("+")? { self.number_u64()? } else { 0 };
                    location.function = Some((label, offset));
                }
                "inlined_at" => location.inlined_at = Some(self.position()?),
                _ => return Err(self.unexpected(word, "function_name or inlined_at")),
            }
        }
        Ok(location)
    }

    /// File, line and column.
    fn position(&mut self) -> Result<[u32; 3], Error> {
        Ok([self.number_u32()?, self.number_u32()?, self.number_u32()?])
    }
}
