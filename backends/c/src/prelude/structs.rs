//! The structs of the ABI: their definitions, as short as they can be read.

use std::borrow::Cow;

use codegen::ir::{FieldType, Struct};

/// The width of lines of fields.
const WIDTH: usize = 112;

/// Writes the definition of a struct.
pub(super) fn define(of: &Struct, text: &mut String) {
    let lines = fields(of);
    text.push_str("typedef struct FFI_MAY_ALIAS {");
    match &lines[..] {
        [only] if only.len() + of.name.len() + 34 <= WIDTH => {
            text.extend([only, " "]);
        }
        _ => {
            text.push('\n');
            lines.iter().for_each(|line| text.extend(["   ", line, "\n"]));
        }
    }
    text.extend(["} ", of.name, ";\n"]);
}

/// Returns the fields of a struct in lines. Fields of one type share a declaration.
fn fields(of: &Struct) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut last = String::new();
    // Fields of fields have a path.
    for field in of.fields.iter().filter(|field| !field.name.contains('.')) {
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
        last = ty.into_owned();
    }
    lines
}

/// Returns the type of a field. A union is its integer.
fn field_type(ty: FieldType) -> Cow<'static, str> {
    Cow::Borrowed(match ty {
        FieldType::U8 => "uint8_t",
        FieldType::U16 => "uint16_t",
        FieldType::I32 => "int32_t",
        FieldType::U32 => "uint32_t",
        FieldType::I64 | FieldType::Union => "int64_t",
        FieldType::U64 => "uint64_t",
        FieldType::Ptr => "void *",
        FieldType::Struct(inner) => {
            return Cow::Owned(format!("struct {{{} }}", fields(inner).concat()));
        }
    })
}
