//! Places in memory: fields and elements by their names, and bytes at an offset.

use codegen::ir::{self, Field, FieldType, Pointee, Struct, Type};

use crate::body::Body;
use crate::expression::{Expression, Level};
use crate::fields::{covered, field};
use crate::prelude::Helper;

impl Body<'_, '_> {
    /// Returns the object of a type at `base + offset`: a field or an element by its name, where one is there.
    pub(crate) fn place(
        &mut self,
        of: Type,
        base: ir::Value,
        offset: i32,
        align: u32,
    ) -> Expression {
        let known = self.source.values[base.index()].points_to;
        let (base, name) = (self.value(base), self.names[base.index()].clone());
        let Some(pointee) = known.filter(|_| align >= of.bytes() && offset >= 0) else {
            return self.bytes(of, &base, offset, align, "");
        };
        // Variables have the type already.
        let typed = if base.text == name {
            name
        } else {
            format!("(({}){})", self.functions.prelude.pointer(pointee), base.pointer())
        };
        let size = match pointee {
            Pointee::Struct(pointee) => pointee.size,
            Pointee::Values(ty) => ty.bytes(),
        };
        let (index, inner) = (offset as u32 / size, offset as u32 % size);
        match pointee {
            Pointee::Struct(pointee) => {
                let owner =
                    if index == 0 { format!("{typed}->") } else { format!("{typed}[{index}].") };
                self.field(of, &base, pointee, inner, &owner).unwrap_or_else(|| {
                    let names = covered(pointee, inner, of);
                    self.bytes(of, &base, offset, align, &names)
                })
            }
            Pointee::Values(ty) if ty == of && inner == 0 => {
                Expression::primary(format!("{typed}[{index}]")).reading([&base])
            }
            Pointee::Values(_) => self.bytes(of, &base, offset, align, ""),
        }
    }

    /// Returns a field of the size of a type.
    fn field(
        &mut self,
        of: Type,
        base: &Expression,
        pointee: &Struct,
        at: u32,
        owner: &str,
    ) -> Option<Expression> {
        let is_included = self.functions.prelude.is_included(pointee);
        if let Some(field) = field(pointee, at, of).filter(|_| !is_included) {
            let text = format!("{owner}{}", field.name);
            return Some(Expression::primary(text).reading([base]));
        }
        let is_it = |field: &&Field| {
            let is_scalar = !matches!(field.ty, FieldType::Struct(_));
            field.offset as u32 == at && field.ty.size() == of.bytes() && is_scalar
        };
        let field = pointee.fields.iter().find(is_it)?;
        let text = format!("{owner}{}", field.name);
        let access = self.functions.prelude.access(of, of.bytes());
        Some(Expression::new(Level::Unary, format!("*({access} *)&{text}")).reading([base]))
    }

    /// Returns the object at an offset in bytes. `names` are those of the fields there.
    fn bytes(
        &mut self,
        of: Type,
        base: &Expression,
        offset: i32,
        align: u32,
        names: &str,
    ) -> Expression {
        let access = self.functions.prelude.access(of, align);
        let address = base.pointer();
        let names = if names.is_empty() { String::new() } else { format!(" /* {names} */") };
        let text = if offset == 0 {
            format!("*({access} *){address}{names}")
        } else {
            let op = if offset < 0 { '-' } else { '+' };
            let bytes = offset.unsigned_abs();
            format!("*({access} *)((char *){address} {op} {bytes}{names})")
        };
        Expression::new(Level::Unary, text).reading([base])
    }

    /// Returns `base + offset`.
    pub(crate) fn at(&mut self, base: ir::Value, offset: i32) -> Expression {
        let base = self.value(base);
        if offset == 0 {
            return base;
        }
        let function = self.functions.prelude.name(Helper::At);
        Expression::call(function, &[base, Expression::number(i64::from(offset))])
    }
}
