//! Grid and block of a launch: as given, or derived from the sizes of the memory.

use std::str::FromStr;

use warploom::Dimensions;

use super::spec::Size;

/// Threads of a block for memory of one dimension, where the kernel allows as many.
const ROW: u32 = 256;
/// Threads of a block for memory of two dimensions, and of three.
const SQUARE: [u32; 3] = [16, 16, 1];
const CUBE: [u32; 3] = [8, 8, 4];

/// `X[,Y[,Z]]` on the command line, also as `XxYxZ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) [u32; 3]);

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Shape, String> {
        let mut shape = [1; 3];
        let words: Vec<&str> = text.split([',', 'x']).collect();
        if words.len() > shape.len() {
            return Err(format!("{} dimensions; there are at most {}", words.len(), shape.len()));
        }
        for (dimension, word) in shape.iter_mut().zip(words) {
            *dimension =
                word.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
                    format!("{word:?} is no dimension; expected 1 to {}, as in 256 or 16,16", u32::MAX)
                })?;
        }
        Ok(Shape(shape))
    }
}

/// Grid and block of a launch over memory of this size, of which the kernel allows so many threads in a
/// block. Without memory it is one thread.
pub(crate) fn launch_shape(
    grid: Option<Shape>,
    block: Option<Shape>,
    largest: Option<&Size>,
    most_threads: u32,
) -> (Dimensions, Dimensions) {
    let dimensions = largest.map(Size::dimensions).unwrap_or_default();
    let block = block.map_or_else(|| default_block(dimensions.len(), most_threads), |Shape(block)| block);
    let cover = |axis: usize| {
        let count = dimensions.get(axis).copied().unwrap_or(1);
        // More blocks than fit a number are more than any device has, which the launch says.
        u32::try_from(count.div_ceil(block[axis] as usize)).unwrap_or(u32::MAX)
    };
    let grid = grid.map_or_else(|| [0, 1, 2].map(cover), |Shape(grid)| grid);
    (Dimensions::from(grid), Dimensions::from(block))
}

fn default_block(dimensions: usize, most_threads: u32) -> [u32; 3] {
    let mut block = match dimensions {
        0 => [1, 1, 1],
        1 => [ROW, 1, 1],
        2 => SQUARE,
        _ => CUBE,
    };
    // Halved in the last dimension that has more than one thread, until the kernel allows it.
    while block.iter().product::<u32>() > most_threads.max(1) {
        let Some(longest) = block.iter_mut().rev().find(|count| **count > 1) else { break };
        *longest /= 2;
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(grid: Option<&str>, block: Option<&str>, size: Option<&str>, most: u32) -> String {
        let shape = |text: &str| text.parse::<Shape>().expect("it is a shape");
        let size = size.map(|size| {
            let spec: super::super::spec::Spec = format!("u8:x:n={size}:zero").parse().expect("it is a size");
            match spec.kind {
                super::super::spec::SpecKind::Memory { size: Some(size), .. } => size,
                other => panic!("{other:?}"),
            }
        });
        let (grid, block) = launch_shape(grid.map(shape), block.map(shape), size.as_ref(), most);
        format!("{grid} of {block}")
    }

    #[test]
    fn the_grid_covers_the_largest_memory() {
        assert_eq!(derived(None, None, Some("1000"), 1024), "4×1×1 of 256×1×1");
        assert_eq!(derived(None, None, Some("640x361"), 1024), "40×23×1 of 16×16×1");
        assert_eq!(derived(None, None, Some("9x8x5"), 1024), "2×1×2 of 8×8×4");
        assert_eq!(derived(None, Some("128"), Some("1000"), 1024), "8×1×1 of 128×1×1");
        assert_eq!(derived(None, Some("32"), Some("64x48"), 1024), "2×48×1 of 32×1×1");
        assert_eq!(derived(Some("7"), None, Some("1000"), 1024), "7×1×1 of 256×1×1");
        assert_eq!(derived(None, None, None, 1024), "1×1×1 of 1×1×1");
    }

    #[test]
    fn a_block_has_no_more_threads_than_the_kernel_allows() {
        assert_eq!(derived(None, None, Some("1000"), 64), "16×1×1 of 64×1×1");
        assert_eq!(derived(None, None, Some("64x48"), 128), "4×6×1 of 16×8×1");
    }

    #[test]
    fn shapes_are_separated_by_commas_or_x() {
        assert_eq!("16,8".parse(), Ok(Shape([16, 8, 1])));
        assert_eq!("2x3x4".parse(), Ok(Shape([2, 3, 4])));
        for (text, problem) in [
            ("", "\"\" is no dimension; expected 1 to 4294967295, as in 256 or 16,16"),
            ("0", "\"0\" is no dimension; expected 1 to 4294967295, as in 256 or 16,16"),
            ("1,2,3,4", "4 dimensions; there are at most 3"),
            ("4294967296", "\"4294967296\" is no dimension; expected 1 to 4294967295, as in 256 or 16,16"),
        ] {
            assert_eq!(text.parse::<Shape>(), Err(problem.to_owned()));
        }
    }
}
