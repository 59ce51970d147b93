//! Resolves what is asked of devices.

use super::Explained;
use super::ids::Home;
use super::names::Names;
use super::term::{Node, Term};
use crate::declaration::{Device, Expr, Kind, Platform};

impl Names<'_> {
    pub(super) fn stream(&self, of: &Expr) -> Explained<Term> {
        let tensor = self.value_of(of).filter(|&value| self.values[value].tensor().is_some());
        match (tensor, self.output_of(of)) {
            (Some(value), _) => Ok(Term::new(Kind::Ptr, Node::Stream(value))),
            (None, Some(output)) => Ok(Term::new(Kind::Ptr, Node::OutputStream(output))),
            (None, None) => Err(format!("stream takes a tensor, not `{of}`")),
        }
    }

    /// Resolves an attribute of the device of a tensor, which must be a GPU.
    pub(super) fn device_attribute(&self, of: &Expr, id: u32) -> Explained<Term> {
        let tensor = self.value_of(of).filter(|&value| self.values[value].tensor().is_some());
        let home = match (tensor, self.output_of(of)) {
            (Some(value), _) => Home::Value(value),
            (None, Some(output)) => Home::Output(output),
            (None, None) => {
                return Err(format!("`{of}` is no tensor, whose device has attributes"));
            }
        };
        let unsure = match self.device_of(home) {
            (Device::Any, Home::Value(value)) => Some(value),
            (device, _)
                if device == Device::Any || Platform::of_device(device) == Some(self.platform) =>
            {
                None
            }
            (device, _) => {
                let gpu = self.platform.device_type();
                return Err(format!(
                    "`{of}` is on {device}, and only {gpu} devices have attributes"
                ));
            }
        };
        Ok(Term::new(Kind::Int, Node::DeviceAttribute { home, unsure, id }))
    }

    /// Returns true for an attribute of the device of a tensor that may not be there, which no error can show.
    pub(super) fn may_have_no_device(&self, expr: &Expr) -> bool {
        let Expr::DeviceAttribute(of, _) = expr else { return false };
        self.value_of(of).is_some_and(|tensor| self.values[tensor].guard.is_some())
    }
}
