//! Prints launches of GPU kernels, tensor maps and commands on streams.

use super::lines::Lines;
use super::term::quoted;
use super::{Printer, map};
use crate::declaration::reserved::spelled;
use crate::resolve::ids::ValueId;
use crate::resolve::launch::{Command, Launch, Packing, Param, TensorMap, Upload, Work};
use crate::resolve::term::Term;

/// Numbers of extents of a grid and of a block.
const DIMS: usize = 3;

impl Printer<'_, '_> {
    pub(super) fn launch(&self, lines: &mut Lines, launch: &Launch<'_>) {
        let extents = launch.extents.parts.iter().map(|(_, extent)| self.argument(extent));
        let extents: Vec<String> = extents.collect();
        let grid = extents[..DIMS].join(", ");
        let block = extents[DIMS..2 * DIMS].join(", ");
        let shared = extents[2 * DIMS..].join(", ");
        let (image, kernel) = (spelled(launch.image), quoted(launch.gpu_kernel));
        let heading = format!("launch {image}.{kernel} grid({grid}) block({block}) smem({shared})");
        lines.nested(heading, |lines| {
            for param in &launch.params {
                self.param(lines, "parameter", param);
            }
            for (id, value) in &launch.attributes {
                lines.line(format!("attribute {id} = {}", self.packing(value)));
            }
            if launch.cooperative {
                lines.line("cooperative");
            }
            allowed(lines, launch);
            lines.line(format!("device of {}", self.home(launch.device)));
            self.stream_line(lines, launch.stream.as_ref());
            self.unsure(lines, &launch.unsure);
            on_load(lines, launch.on_load);
        });
    }

    /// Prints the kernel of a launch of another function, whose names this one has not.
    pub(super) fn loaded(&self, lines: &mut Lines, launch: &Launch<'_>) {
        let (image, kernel) = (spelled(launch.image), quoted(launch.gpu_kernel));
        lines.nested(format!("load {image}.{kernel}"), |lines| {
            allowed(lines, launch);
            on_load(lines, launch.on_load);
        });
    }

    pub(super) fn command(&self, lines: &mut Lines, command: &Command<'_>) {
        let terms =
            |all: &[&Term]| all.iter().map(|term| self.term(term)).collect::<Vec<_>>().join(", ");
        let heading = match &command.work {
            Work::Upload(Upload { to, size, align, .. }) => {
                format!("upload {}, {size} bytes, align {align}", self.term(to))
            }
            Work::Fill { to, bytes, value } => format!("fill {}", terms(&[to, bytes, value])),
            Work::Copy { to, from, bytes } => format!("copy {}", terms(&[to, from, bytes])),
            Work::Wait { waiter, other } => format!("wait {}", terms(&[waiter, other])),
        };
        lines.nested(heading, |lines| {
            if let Work::Upload(upload) = &command.work {
                for (offset, part) in &upload.parts {
                    self.param(lines, &format!("at {offset}"), part);
                }
            }
            if let Some(device) = command.device {
                lines.line(format!("device of {}", self.home(device)));
            }
            if !matches!(command.work, Work::Wait { .. }) {
                self.stream_line(lines, command.stream.as_ref());
            }
            self.unsure(lines, &command.unsure);
        });
    }

    /// Prints the tensors that only the call shows to be on a GPU.
    pub(super) fn unsure(&self, lines: &mut Lines, unsure: &[ValueId]) {
        for &value in unsure {
            lines.line(format!("{} must be on a GPU", self.value(value)));
        }
    }

    pub(super) fn tensor_map(&self, lines: &mut Lines, made: &TensorMap<'_>) {
        lines.line(format!(
            "element type {}, {} bits, unit {}",
            made.element.ty as u32, made.element.bits, made.unit
        ));
        let offset = made.offset.as_ref().map(|offset| format!(" + {}", self.term(offset)));
        lines.line(format!("address {}{}", self.term(&made.address), offset.unwrap_or_default()));
        lines.line(format!("numbers {}", self.terms(&made.numbers)));
    }

    fn stream_line(&self, lines: &mut Lines, stream: Option<&Term>) {
        match stream {
            Some(stream) => lines.line(format!("stream {}", self.term(stream))),
            None => lines.line("stream of the environment"),
        }
    }

    fn param(&self, lines: &mut Lines, role: &str, param: &Param<'_>) {
        match param {
            Param::Packed(packing) => lines.line(format!("{role} {}", self.packing(packing))),
            Param::Scratch(output) => {
                lines.line(format!("{role} scratch {}", self.output(*output)))
            }
            Param::Map(id) => lines.line(format!("{role} {}", map(*id))),
            Param::Bytes(bytes) => {
                let (address, numel) = (self.term(&bytes.address), self.term(&bytes.numel));
                let (size, least) = (bytes.size, bytes.least);
                lines
                    .line(format!("{role} {size} bytes at {address}, {numel} is at least {least}"));
            }
            Param::TensorMap(made) => {
                lines.nested(format!("{role} {}", made.declared), |lines| {
                    self.tensor_map(lines, made);
                });
            }
        }
    }

    /// Returns one scalar, or the scalars of a struct with their byte offsets.
    fn packing(&self, packing: &Packing) -> String {
        if let [(0, one)] = &packing.parts[..] {
            return self.argument(one);
        }
        let parts = packing.parts.iter();
        let parts: Vec<String> =
            parts.map(|(offset, part)| format!("{offset}: {}", self.argument(part))).collect();
        format!("struct {{{}}} of {} bytes", parts.join(", "), packing.size)
    }
}

/// Prints what a launch allows its kernel, which is set when the kernel is loaded.
fn allowed(lines: &mut Lines, launch: &Launch<'_>) {
    let allowed = [(launch.allowed.shared, "shared memory"), (launch.allowed.cluster, "clusters")];
    for (_, what) in allowed.iter().filter(|(is_allowed, _)| *is_allowed) {
        lines.line(format!("allow {what}"));
    }
}

fn on_load(lines: &mut Lines, function: Option<&str>) {
    if let Some(function) = function {
        lines.line(format!("on load @{}", quoted(function)));
    }
}
