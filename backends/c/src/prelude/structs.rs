//! The structs of the ABI: their definitions, as short as they can be read.

use std::collections::BTreeSet;

use codegen::ir::{FieldType, Struct};

/// The width of lines of fields.
const WIDTH: usize = 104;

/// Writes the definition of a struct, after those of the structs in it, unless it is among those done.
pub(super) fn define(of: &Struct, done: &mut BTreeSet<&'static str>, text: &mut String) {
    if !done.insert(of.name) {
        return;
    }
    // Fields of fields have a path.
    let fields = || of.fields.iter().filter(|field| !field.name.contains('.'));
    for field in fields() {
        if let FieldType::Struct(inner) = field.ty {
            define(inner, done, text);
        }
    }
    let mut lines = vec![String::new()];
    let mut last = "";
    for field in fields() {
        let ty = field_type(field.ty);
        let star = if ty.ends_with('*') { "*" } else { "" };
        let joined = format!(", {star}{};", field.name);
        let line = lines.last_mut().expect("there is a line");
        if ty == last && line.len() + joined.len() <= WIDTH {
            line.pop();
            line.push_str(&joined);
            continue;
        }
        let start = format!(" {} {star}{};", ty.trim_end_matches(" *"), field.name);
        if line.len() + start.len() <= WIDTH {
            line.push_str(&start);
        } else {
            lines.push(start);
        }
        last = ty;
    }
    text.push_str("typedef struct FFI_MAY_ALIAS {");
    match &lines[..] {
        [only] if only.len() + of.name.len() + 34 <= WIDTH => text.push_str(&format!("{only} ")),
        _ => {
            text.push('\n');
            lines.iter().for_each(|line| text.push_str(&format!("   {line}\n")));
        }
    }
    text.push_str(&format!("}} {};\n", of.name));
}

/// Returns the type of a field. A union is its integer.
fn field_type(ty: FieldType) -> &'static str {
    match ty {
        FieldType::U8 => "uint8_t",
        FieldType::U16 => "uint16_t",
        FieldType::I32 => "int32_t",
        FieldType::U32 => "uint32_t",
        FieldType::I64 | FieldType::Union => "int64_t",
        FieldType::U64 => "uint64_t",
        FieldType::Ptr => "void *",
        FieldType::Struct(inner) => inner.name,
    }
}
