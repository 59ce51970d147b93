//! Resolves device variables of images: the image, and the device whose variable is meant.

use super::Explained;
use super::ids::{Home, ValueId};
use super::launch::platform;
use super::names::{Meaning, Names};
use super::presence::Facts;
use super::term::{Global, Kind, Node, OfGlobal, Term};
use super::value::Source;
use crate::declaration::{self, Device, Platform};

impl<'a> Names<'a> {
    /// Resolves the address or the size of a device variable.
    pub(super) fn global(&self, declared: &declaration::Global, part: OfGlobal) -> Explained<Term> {
        let declaration::Global { image, name } = declared;
        let used = self.images.iter().find(|used| used.name == *image);
        let used = used.ok_or_else(|| format!("there is no image `{image}`"))?;
        platform::check_image(self.platform, used)?;
        let home = self.gpu_tensor().ok_or_else(|| {
            let of = declaration::Expr::Global(Box::new(declared.clone()));
            format!("no tensor says on which device `{of}` is")
        })?;
        let unsure = match self.device_of(home) {
            (Device::Any, Home::Value(value)) => Some(value),
            (Device::Any | Device::Type(_), _) => None,
        };
        let on_load = used.on_load.map(str::to_owned);
        let (image, name) = (image.clone(), name.clone());
        let kind = match part {
            OfGlobal::Address => Kind::Ptr,
            OfGlobal::Size => Kind::Int,
        };
        let global = Global { image, name, on_load, home, unsure, part };
        Ok(Term::new(kind, Node::Global(Box::new(global))))
    }

    /// Returns the tensor whose device the statement uses, else the first value in scope that is declared for a GPU,
    /// else the first allocated tensor in scope that is, else the first value that may be on one.
    fn gpu_tensor(&self) -> Option<Home> {
        let is_known = |value: &ValueId| {
            let device = self.values[*value].tensor().map(|tensor| tensor.device);
            device.is_some_and(|device| Platform::of_device(device) == Some(self.platform))
        };
        let known = || self.values.keys().find(|value| is_known(value) && self.is_there(*value));
        self.device
            .or_else(|| known().map(Home::Value))
            .or_else(|| self.gpu_output())
            .or_else(|| self.gpu_value(&Facts::default()).map(Home::Value))
    }

    /// Returns the first allocated tensor in scope that is on a GPU.
    fn gpu_output(&self) -> Option<Home> {
        let in_scope = self.defined.values().filter_map(|meaning| match meaning {
            Meaning::Output(output) => Some(*output),
            Meaning::Symbol(_)
            | Meaning::Value(_)
            | Meaning::Local(_)
            | Meaning::Map(_)
            | Meaning::Dtype(_) => None,
        });
        let all = self.results.values().copied().chain(in_scope);
        all.filter(|output| self.is_on_gpu(Home::Output(*output))).min().map(Home::Output)
    }

    /// Returns the first value in scope that is, or may be, a tensor on a GPU, and that is never None; if there is
    /// none, the first that is there where the facts hold.
    pub(super) fn gpu_value(&self, facts: &Facts) -> Option<ValueId> {
        let on_gpu = |value: &ValueId| {
            self.values[*value].tensor().is_some() && self.is_on_gpu(Home::Value(*value))
        };
        let shown = |value: &ValueId| self.is_in_scope(*value) && facts.show(self, *value);
        let all = || self.values.keys().filter(on_gpu);
        all().find(|value| self.is_there(*value)).or_else(|| all().find(shown))
    }

    /// Returns true for a value in scope that is never None.
    fn is_there(&self, value: ValueId) -> bool {
        self.values[value].guard.is_none() && self.is_in_scope(value)
    }

    /// Returns true for parameters, values that a closure holds, and values that the body has named before.
    fn is_in_scope(&self, value: ValueId) -> bool {
        match self.values[value].source {
            Source::Context | Source::Argument(_) | Source::Rest(_) | Source::Captured(_) => true,
            Source::Result | Source::Alternative { .. } => {
                self.defined.values().any(|one| *one == Meaning::Value(value))
            }
            Source::LookUp(_)
            | Source::Element { .. }
            | Source::Each { .. }
            | Source::Key { .. }
            | Source::Mapped { .. } => false,
        }
    }

    fn is_on_gpu(&self, home: Home) -> bool {
        match self.device_of(home) {
            (Device::Any, _) => true,
            (device, _) => Platform::of_device(device) == Some(self.platform),
        }
    }
}
