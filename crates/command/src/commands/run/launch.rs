//! Memory and values of a launch, and the launch itself.
#![expect(unsafe_code, reason = "launches the kernel of a file")]

use warploom::{
    ArgumentList, Buffer, DevicePool, Dimensions, Kernel, KernelAttribute, LaunchConfig, ParameterInfo, Result, Stream,
};

use super::contents::Contents;
use super::element::Element;
use super::spec::{Size, Spec, SpecKind};
use crate::failure::Failure;

/// An argument that is ready to be passed.
pub(crate) enum Argument {
    Value(Vec<u8>),
    Memory(Memory),
}

/// Memory of an argument.
pub(crate) struct Memory {
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) size: Size,
    buffer: Buffer<u8>,
}

impl Memory {
    /// The bytes of its values now.
    pub(crate) fn download(&self, stream: &Stream) -> Result<Vec<u8>> {
        self.buffer.download(stream)
    }
}

/// Refuses specifications that differ from the kernel's parameters in number or size.
pub(crate) fn check_parameters(kernel: &Kernel, specs: &[Spec]) -> Result<(), Failure> {
    let parameters = kernel.parameters()?;
    let fits = |(spec, parameter): (&Spec, &ParameterInfo)| spec.parameter_bytes() == parameter.size;
    if specs.len() == parameters.len() && specs.iter().zip(parameters).all(fits) {
        return Ok(());
    }
    let mut text = format!(
        "the arguments do not fit: {} has {}, and {} given",
        kernel.name(),
        plural(parameters.len(), "parameter", "parameters"),
        plural(specs.len(), "argument is", "arguments are")
    );
    for index in 0..parameters.len().max(specs.len()) {
        let (parameter, spec) = (parameters.get(index), specs.get(index));
        let takes = parameter.map_or_else(|| "none".to_owned(), |parameter| plural(parameter.size, "byte", "bytes"));
        let given = match spec {
            Some(Spec { text, kind: SpecKind::Memory { .. }, .. }) => format!("{text} (an address, 8 bytes)"),
            Some(spec) => format!("{} ({})", spec.text, plural(spec.parameter_bytes(), "byte", "bytes")),
            None => "missing".to_owned(),
        };
        let mark = if spec.zip(parameter).is_some_and(fits) { ' ' } else { '✗' };
        text += &format!("\n{mark} parameter {index}: {takes}, argument: {given}");
    }
    Err(Failure::misuse(text).hint("give an --arg for each parameter, in their order"))
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Makes memory and values for the specifications. An argument without a name is called by its number.
pub(crate) fn prepare(specs: &[Spec], pool: &DevicePool, stream: &Stream) -> Result<Vec<Argument>, Failure> {
    let one = |(index, spec): (usize, &Spec)| match &spec.kind {
        SpecKind::Value(values) => {
            let mut bytes = Vec::new();
            values.iter().for_each(|value| spec.element.encode(*value, &mut bytes));
            Ok(Argument::Value(bytes))
        }
        SpecKind::Memory { size, contents } => {
            let name = argument_name(index, spec);
            let (element, made) = (spec.element, contents.bytes(spec.element, size.as_ref())?);
            let failed = |error| Failure::new(format_args!("memory of {}: {error}", spec.text));
            let (buffer, size) = match (made, size) {
                (Some((bytes, size)), _) => (pool.upload(&bytes, stream), size),
                (None, Some(size)) => {
                    let bytes = size.count() * element.size();
                    let made = match contents {
                        Contents::Uninitialised => pool.allocate(bytes, stream),
                        _ => pool.zeroed(bytes, stream),
                    };
                    (made, size.clone())
                }
                (None, None) => return Err(Failure::new(format_args!("{} has no size", spec.text))),
            };
            Ok(Argument::Memory(Memory { name, element, size, buffer: buffer.map_err(failed)? }))
        }
    };
    specs.iter().enumerate().map(one).collect()
}

/// The name of an argument: its own, or its number.
pub(crate) fn argument_name(index: usize, spec: &Spec) -> String {
    spec.name.clone().unwrap_or_else(|| format!("arg{index}"))
}

/// Checks a launch, and lets the kernel have as much dynamic shared memory as the launch needs.
pub(crate) fn config(
    kernel: &Kernel,
    grid: Dimensions,
    block: Dimensions,
    shared: u32,
    stream: &Stream,
) -> Result<LaunchConfig, Failure> {
    let device = stream.device();
    let allowed = kernel.attribute(KernelAttribute::MaxDynamicShared, device)?;
    let limit = device.properties()?.shared_memory_per_block_opt_in();
    if i64::from(shared) > i64::from(allowed) {
        let wanted = i32::try_from(shared).ok().filter(|_| shared <= limit).ok_or_else(|| {
            Failure::misuse(format_args!("--shared {shared}: a block of the device has at most {limit} bytes"))
        })?;
        kernel.set_attribute(KernelAttribute::MaxDynamicShared, wanted, device)?;
    }
    let config = LaunchConfig::new(grid, block).shared_memory(shared);
    kernel.check(&config, stream.context()).map_err(Failure::misuse)?;
    Ok(config)
}

/// Launches the kernel, and waits for it. Returns its time on the device, in milliseconds.
pub(crate) fn launch(
    kernel: &Kernel,
    config: &LaunchConfig,
    arguments: &mut [Argument],
    stream: &Stream,
) -> Result<f32> {
    let mut list = ArgumentList::new();
    for argument in arguments {
        match argument {
            Argument::Value(bytes) => push(&mut list, bytes),
            Argument::Memory(memory) => drop(list.push(&mut memory.buffer)),
        }
    }
    let start = stream.record_timed()?;
    // SAFETY: sizes and number of the arguments are compared with the kernel's parameters. The kernel comes
    // from a file that the user chose to run; the process has no other memory on the device, and no other
    // work, that it could disturb.
    unsafe { kernel.launch(stream, config, &list) }?;
    let end = stream.record_timed()?;
    end.synchronize()?;
    end.elapsed_ms(&start)
}

/// Appends a value of as many bytes as element types and vectors of them have.
fn push(list: &mut ArgumentList<'_>, bytes: &[u8]) {
    macro_rules! sizes {
        ($($size:literal)*) => {$(
            if let Ok(value) = <[u8; $size]>::try_from(bytes) {
                list.push(value);
            }
        )*};
    }
    sizes! {
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 18 20 22 24 26 28 30 32 36 40 44 48 52 56 60 64 72 80 88 96 104 112 120
        128
    }
}
