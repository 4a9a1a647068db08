//! `warploom ptx`: the PTX of a file, and its refusal by a simulated driver.

mod text;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use warploom_sim::{CodeImage, CodeImageKind, CodeRefusal};

use super::Run;
use crate::choice::MachineName;
use crate::failure::Failure;
use crate::human;
use crate::report::{PtxReport, RefusalReport};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom ptx saxpy.ptx                               version, kernels, registers, instructions, refusals
  nvcc -ptx -o - saxpy.cu | warploom ptx -             of standard input
  warploom ptx program --machine hgx-a100-4 --json     all PTX in a cubin, a fatbin or a program, for an A100

Exit code 1: the simulated driver would refuse the file.";

/// Arguments of `warploom ptx`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// PTX, a cubin, a fatbin, or a program with fatbins in it; - is standard input
    file: PathBuf,
    /// The machine whose first device is asked: a preset, or a topology file
    #[arg(long, value_name = "NAME", default_value = "h200")]
    machine: MachineName,
}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let (name, bytes) = read(&self.file)?;
        let machine = self.machine.topology()?;
        if machine.devices.is_empty() {
            return Err(Failure::new(format_args!("the machine {} has no device to ask", self.machine.text())));
        }
        let image =
            CodeImage::read(&bytes).map_err(|refusal| Failure::new(format_args!("{name}: {}", refusal.reason)))?;
        let refusal = image.refusal(&machine, 0);
        let accepted = refusal.is_none();
        let texts = image.texts().map(|part| text::report(&part, accepted)).collect();
        let refusal = refusal.map(|CodeRefusal { code, reason, .. }| RefusalReport { code: code.to_string(), reason });
        let report = PtxReport {
            file: name,
            format: match image.kind() {
                CodeImageKind::Ptx => "ptx",
                CodeImageKind::Cubin => "cubin",
                CodeImageKind::Fatbin => "fatbin",
                CodeImageKind::LtoIr => "lto-ir",
                _ => "host object",
            },
            machine: self.machine.text(),
            unusable: image.unusable().map(str::to_owned).collect(),
            texts,
            refusal,
            accepted,
        };
        Ok(session.show(&report, |style| human::ptx(&report, style))?.succeeded(accepted))
    }
}

/// The bytes of a file or of standard input, and its name.
fn read(file: &Path) -> Result<(String, Vec<u8>), Failure> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Failure::file(Path::new("stdin"), error))?;
        return Ok(("stdin".to_owned(), bytes));
    }
    let bytes = std::fs::read(file).map_err(|error| Failure::file(file, error))?;
    Ok((file.display().to_string(), bytes))
}
