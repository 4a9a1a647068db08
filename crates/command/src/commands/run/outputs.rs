//! Outputs of a run: the memory to print, and pictures.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use warploom::Stream;

use super::element::Element;
use super::launch::{Argument, Memory, argument_name};
use super::spec::{Size, Spec, SpecKind};
use crate::failure::Failure;
use crate::picture::{Channels, FileFormat, Picture, shades};
use crate::report::{MemoryReport, Number, Statistics};

/// `NAME=FILE` of `--picture`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PictureArg {
    name: String,
    path: PathBuf,
    format: FileFormat,
}

impl FromStr for PictureArg {
    type Err = String;

    fn from_str(text: &str) -> Result<PictureArg, String> {
        let (name, path) = text.split_once('=').ok_or("expected NAME=FILE, such as y=y.png")?;
        let path = PathBuf::from(path);
        let format = FileFormat::of_path(&path).ok_or("expected a file that ends in .png, .pgm or .ppm")?;
        Ok(PictureArg { name: name.to_owned(), path, format })
    }
}

/// The outputs that were asked for.
#[derive(Debug)]
pub(crate) struct Outputs {
    printed: Vec<String>,
    pictures: Vec<PictureArg>,
}

/// Outputs whose files are open.
pub(crate) struct OpenOutputs {
    printed: Vec<String>,
    pictures: Vec<(PictureArg, Layout, File)>,
}

/// The pixels of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    width: usize,
    height: usize,
    channels: Channels,
}

impl Outputs {
    /// Refuses two arguments of one name, and names that are no memory.
    pub(crate) fn new(specs: &[Spec], print: &[String], pictures: &[PictureArg]) -> Result<Outputs, Failure> {
        let names: Vec<String> = specs.iter().enumerate().map(|(index, spec)| argument_name(index, spec)).collect();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(Failure::misuse(format_args!("two arguments are called {name:?}")).hint("rename one"));
            }
        }
        let is_memory = |spec: &&Spec| matches!(spec.kind, SpecKind::Memory { .. });
        for name in print.iter().chain(pictures.iter().map(|picture| &picture.name)) {
            let spec = names.iter().position(|known| known == name).map(|index| &specs[index]);
            if spec.filter(is_memory).is_none() {
                let problem = if spec.is_some() { "is a value, not memory" } else { "is no argument" };
                let memory = specs.iter().zip(&names).filter(|(spec, _)| is_memory(spec));
                let known: Vec<&str> = memory.map(|(_, name)| name.as_str()).collect();
                let hint = match known.as_slice() {
                    [] => "there is no memory among the arguments".to_owned(),
                    known => format!("the memory is called {}", known.join(", ")),
                };
                return Err(Failure::misuse(format_args!("{name:?} {problem}")).hint(hint));
            }
        }
        Ok(Outputs { printed: print.to_vec(), pictures: pictures.to_vec() })
    }

    /// Opens the files of the pictures, so that one that cannot be written stops the run before the launch.
    pub(crate) fn create(self, arguments: &[Argument]) -> Result<OpenOutputs, Failure> {
        let mut pictures = Vec::new();
        for picture in self.pictures {
            let Some(memory) = memory_of(arguments).find(|memory| memory.name == picture.name) else { continue };
            let layout = layout(memory.element, &memory.size)
                .filter(|layout| picture.format.has(layout.channels))
                .ok_or_else(|| no_picture(&picture, memory))?;
            let file = File::create(&picture.path).map_err(|error| Failure::file(&picture.path, error))?;
            pictures.push((picture, layout, file));
        }
        Ok(OpenOutputs { printed: self.printed, pictures })
    }
}

/// All memory among the arguments.
fn memory_of(arguments: &[Argument]) -> impl Iterator<Item = &Memory> {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Memory(memory) => Some(memory),
        Argument::Value(_) => None,
    })
}

/// The pixels of memory: two dimensions in grey, or three with the channels of bytes as the first.
fn layout(element: Element, size: &Size) -> Option<Layout> {
    let (width, height, channels) = match size.dimensions() {
        [width, height] => (*width, *height, Channels::Grey),
        [channels, width, height] if element == Element::U8 => (*width, *height, Channels::of_count(*channels)?),
        _ => return None,
    };
    Some(Layout { width, height, channels })
}

fn no_picture(picture: &PictureArg, memory: &Memory) -> Failure {
    let Memory { name, element, size, .. } = memory;
    let expected = match picture.format {
        FileFormat::Png => "n=WIDTHxHEIGHT, or u8 with n=3xWIDTHxHEIGHT or n=4xWIDTHxHEIGHT",
        FileFormat::Pgm => "n=WIDTHxHEIGHT; .ppm and .png have colours",
        FileFormat::Ppm => "u8 with n=3xWIDTHxHEIGHT; .pgm and .png have grey values",
    };
    let file = picture.path.display();
    Failure::misuse(format_args!("{name} is {element} with n={size}, which is no picture for {file}"))
        .hint(format!("expected {expected}"))
}

impl OpenOutputs {
    /// Downloads all memory, writes the pictures, and reports.
    pub(crate) fn write(self, arguments: &[Argument], stream: &Stream) -> Result<Vec<MemoryReport>, Failure> {
        let OpenOutputs { printed, mut pictures } = self;
        let mut reports = Vec::new();
        for memory in memory_of(arguments) {
            let Memory { name, element, size, .. } = memory;
            let bytes = memory.download(stream)?;
            let numbers = || bytes.chunks_exact(element.size()).map(|bytes| element.decode(bytes));
            let mut files = Vec::new();
            for (picture, layout, file) in pictures.iter_mut().filter(|(picture, ..)| picture.name == *name) {
                let failed = |error: &dyn std::fmt::Display| Failure::file(&picture.path, error);
                let pixels = match element {
                    Element::U8 => bytes.clone(),
                    _ => shades(&numbers().map(Number::to_float).collect::<Vec<_>>()),
                };
                let Layout { width, height, channels } = *layout;
                let pixels = Picture::new(width, height, channels, pixels)
                    .ok_or_else(|| failed(&format_args!("{width}x{height} pixels are more than the format has")))?;
                file.write_all(&pixels.encode(picture.format)).map_err(|error| failed(&error))?;
                files.push(picture.path.display().to_string());
            }
            reports.push(MemoryReport {
                name: name.clone(),
                element: element.name(),
                size: size.dimensions().to_vec(),
                statistics: Statistics::of(numbers()),
                values: printed.contains(name).then(|| numbers().collect()),
                pictures: files,
            });
        }
        Ok(reports)
    }
}
