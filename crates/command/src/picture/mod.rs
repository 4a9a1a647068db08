//! Pictures of values: PNG, PGM and PPM files.
//!
//! ```text
//! values ─▶ Picture: a byte for each pixel and channel ─▶ png: deflated rows with a filter each
//!                                                      └▶ netpbm: a header and the bytes
//! ```

mod netpbm;
mod png;

use std::path::Path;

/// Pixels in rows from the top, a byte for each channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    width: u32,
    height: u32,
    channels: Channels,
    bytes: Vec<u8>,
}

/// The channels of a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channels {
    Grey,
    Rgb,
    Rgba,
}

/// The format of a picture's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Png,
    /// Grey values.
    Pgm,
    /// Red, green and blue.
    Ppm,
}

impl Channels {
    /// The channels, if a pixel has this many bytes.
    pub(crate) fn of_count(count: usize) -> Option<Channels> {
        match count {
            1 => Some(Channels::Grey),
            3 => Some(Channels::Rgb),
            4 => Some(Channels::Rgba),
            _ => None,
        }
    }

    pub(crate) fn count(self) -> usize {
        match self {
            Channels::Grey => 1,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }
}

impl FileFormat {
    /// The format that a path's extension names.
    pub(crate) fn of_path(path: &Path) -> Option<FileFormat> {
        match path.extension()?.to_str()? {
            "png" => Some(FileFormat::Png),
            "pgm" => Some(FileFormat::Pgm),
            "ppm" => Some(FileFormat::Ppm),
            _ => None,
        }
    }

    /// `true` if files of the format have such pixels.
    pub(crate) fn has(self, channels: Channels) -> bool {
        match self {
            FileFormat::Png => true,
            FileFormat::Pgm => channels == Channels::Grey,
            FileFormat::Ppm => channels == Channels::Rgb,
        }
    }
}

impl Picture {
    /// A picture of as many bytes; `None` if they are more or fewer, or if a side has no pixel or more than
    /// files can say.
    pub(crate) fn new(width: usize, height: usize, channels: Channels, bytes: Vec<u8>) -> Option<Picture> {
        let expected = width.checked_mul(height)?.checked_mul(channels.count())?;
        let side = |pixels| u32::try_from(pixels).ok().filter(|pixels| (1..=1 << 30).contains(pixels));
        let (width, height) = (side(width)?, side(height)?);
        (bytes.len() == expected).then_some(Picture { width, height, channels, bytes })
    }

    /// The bytes of a file.
    pub(crate) fn encode(&self, format: FileFormat) -> Vec<u8> {
        match format {
            FileFormat::Png => png::encode(self),
            FileFormat::Pgm | FileFormat::Ppm => netpbm::encode(self),
        }
    }

    /// The rows, from the top.
    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.width as usize * self.channels.count())
    }
}

/// A byte for each value: from black at the least to white at the largest. Values that are no numbers are
/// black.
pub(crate) fn shades(values: &[f64]) -> Vec<u8> {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (least, most) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let shade = |value: &f64| match *value {
        value if value.is_nan() || most <= least => 0,
        value => ((value - least) / (most - least) * 255.0).round().clamp(0.0, 255.0) as u8,
    };
    values.iter().map(shade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_the_least_to_the_largest_value() {
        assert_eq!(shades(&[2.0, 4.0, 3.0]), [0, 255, 128]);
        assert_eq!(shades(&[7.0, 7.0]), [0, 0]);
        assert_eq!(shades(&[f64::NAN, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY]), [0, 0, 255, 255, 0]);
    }

    #[test]
    fn a_picture_has_a_byte_for_each_channel() {
        assert!(Picture::new(2, 3, Channels::Rgb, vec![0; 18]).is_some());
        assert_eq!(Picture::new(2, 3, Channels::Grey, vec![0; 18]), None);
        assert_eq!(Picture::new(0, 3, Channels::Grey, vec![]), None);
        assert_eq!(Picture::new(usize::MAX, 2, Channels::Rgba, vec![]), None);
    }
}
