//! What a cubin says of the parameters of a kernel.
//!
//! The section `.nv.info.<kernel>` holds records: a format, an attribute and two bytes more, which for the format of
//! values are the size of what follows. A parameter's value has its ordinal in the second word and its size in the
//! third, above 18 bits of other things where there is room for both.

use codegen::ImageKind;
use object::{File, Object, ObjectSection};

use super::Fault;

const FORMAT_VALUE: u8 = 0x04;
const PARAMETER: u8 = 0x17;
const LARGE_PARAMETER: u8 = 0x45;

/// That the kernel has parameters of these sizes. Images that are no cubins, and cubins without the section, say
/// nothing of it; the driver does when they are loaded.
pub(super) fn check(image: &[u8], kernel: &str, given: &[u32]) -> Result<(), Fault> {
    if ImageKind::of(image) != Some(ImageKind::Cubin) {
        return Ok(());
    }
    let Ok(file) = File::parse(image) else { return Ok(()) };
    let refused = |reason: String| Err(Fault::Kernel { name: kernel.to_owned(), reason });
    let Some(section) = file.section_by_name(&format!(".nv.info.{kernel}")) else {
        return refused("the cubin has no such kernel".to_owned());
    };
    let sizes = sizes(section.data().unwrap_or_default());
    if sizes.len() != given.len() {
        return refused(format!(
            "the cubin says that it has {} parameters, two of them hidden, and the signature gives it {}",
            sizes.len(),
            given.len()
        ));
    }
    match sizes.iter().zip(given).position(|(size, given)| size != given) {
        None => Ok(()),
        Some(at) => refused(format!(
            "the cubin says that parameter {at} has {} bytes, and the signature gives it {}",
            sizes[at], given[at]
        )),
    }
}

/// The sizes of the parameters, in order.
fn sizes(mut records: &[u8]) -> Vec<u32> {
    let mut found = Vec::new();
    while let [format, attribute, low, high, rest @ ..] = records {
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let length = if *format == FORMAT_VALUE { size.min(rest.len()) } else { 0 };
        let (value, next) = rest.split_at(length);
        found.extend(parameter(*attribute, value));
        records = next;
    }
    found.sort_unstable();
    found.into_iter().map(|(_, size)| size).collect()
}

/// The ordinal and the size of a parameter, if the record is of one.
fn parameter(attribute: u8, value: &[u8]) -> Option<(u16, u32)> {
    let shift = match attribute {
        PARAMETER => 18,
        LARGE_PARAMETER => 0,
        _ => return None,
    };
    let ordinal = u16::from_le_bytes(value.get(4..6)?.try_into().ok()?);
    let size = u32::from_le_bytes(value.get(8..12)?.try_into().ok()?);
    Some((ordinal, size >> shift))
}
