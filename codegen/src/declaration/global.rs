//! Device variables of images.

use super::{Expr, Function, LaunchArg};

/// A device variable of an image: `code.global("state")`, whose address the expression is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Global {
    /// Name of the image.
    pub image: String,
    /// Name of the variable in the image, mangled.
    pub name: String,
}

/// Constructor of device variables.
///
/// ```
/// use tvm_ffi_codegen::Expr;
///
/// let state = Expr::global("code", "state");
/// assert_eq!(state.to_string(), r#"code.global("state")"#);
/// assert_eq!(state.size().to_string(), r#"code.global("state").size"#);
/// ```
impl Expr {
    /// Builds `image.global("name")`, the address of a device variable. Its [`size`](Expr::size) is the number of its
    /// bytes.
    pub fn global(image: impl Into<String>, name: impl Into<String>) -> Expr {
        Expr::Global(Box::new(Global { image: image.into(), name: name.into() }))
    }

    /// Appends the device variables in the expression, in source order.
    pub(crate) fn globals<'a>(&'a self, all: &mut Vec<&'a Global>) {
        if let Expr::Global(global) = self {
            all.push(global);
        }
        self.children().for_each(|child| child.globals(all));
    }
}

impl LaunchArg {
    /// Returns the device variables in the argument.
    pub(crate) fn globals(&self) -> Vec<&Global> {
        let (mut exprs, mut globals) = (Vec::new(), Vec::new());
        self.exprs(&mut exprs);
        exprs.into_iter().for_each(|expr| expr.globals(&mut globals));
        globals
    }
}

impl Function {
    /// Returns the device variables in the conditions and in the body, in source order. One may occur several times.
    pub fn globals(&self) -> Vec<&Global> {
        let mut globals = Vec::new();
        self.exprs().for_each(|expr| expr.globals(&mut globals));
        globals
    }

    /// Returns the names of the images that the function needs, in the order of the launches, then of the device
    /// variables. One may occur several times.
    pub fn used_images(&self) -> Vec<&str> {
        let launched = self.body.launches().map(|launch| &*launch.image);
        launched.chain(self.globals().into_iter().map(|global| &*global.image)).collect()
    }

    /// Returns the conditions of the signature and the expressions of the body, those of functions that it makes
    /// included.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let constraints = self.signature.constraints.iter();
        constraints.map(|constraint| &constraint.condition).chain(self.body.exprs())
    }
}
