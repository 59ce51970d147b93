//! Values of Rust types, by which declarations that accept none of them are recognised.

use std::any::type_name;

use abi_spec::{DType, DeviceType, TypeIndex};
use tvm_ffi_codegen::{self as codegen, ParamType, ResultType, Shape};

/// A description of the values of a Rust type, by which declarations that accept none of them are recognised.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Values {
    pub(super) name: &'static str,
    pub(super) has: fn(TypeIndex) -> bool,
    /// The type of the elements, if the values are tensors of one dim on the CPU.
    pub(super) vector: Option<DType>,
    /// True for tensors that nobody may write to.
    pub(super) shared: bool,
}

impl Values {
    pub(super) fn new<T: ?Sized>(has: fn(TypeIndex) -> bool) -> Values {
        Values { name: type_name::<T>(), has, vector: None, shared: false }
    }

    /// Returns true if some value is an argument for a parameter of this type.
    pub(super) fn is_accepted(self, declared: &ParamType) -> bool {
        self.meets(declared, ParamType::accepts)
    }

    /// Returns true if a function of this result may return some value.
    pub(super) fn is_returned(self, declared: &ResultType) -> bool {
        match declared {
            ResultType::None => (self.has)(TypeIndex::NONE),
            ResultType::Value(ty) => self.meets(ty, |ty, index| {
                // Arguments are converted, results are not.
                let ParamType::Scalar(scalar) = ty else { return ty.accepts(index) };
                index == scalar.type_index()
            }),
            ResultType::Allocated(outputs) if outputs.len() == 1 => (self.has)(TypeIndex::TENSOR),
            ResultType::Allocated(_) => (self.has)(TypeIndex::ARRAY),
        }
    }

    /// Returns true if the declared type accepts the type index of some value.
    fn meets(self, declared: &ParamType, accepts: fn(&ParamType, TypeIndex) -> bool) -> bool {
        if let ParamType::Optional(inner) = declared {
            return (self.has)(TypeIndex::NONE) || self.meets(inner, accepts);
        }
        if let ParamType::Union(types) = declared {
            return types.iter().any(|ty| self.meets(ty, accepts));
        }
        if let (ParamType::Tensor(tensor), Some(element)) = (declared, self.vector) {
            return takes_vectors(tensor, element);
        }
        // The first dynamic index stands for all registered classes.
        let mut indices = TypeIndex::ALL.iter().chain([&TypeIndex::DYN_OBJECT_BEGIN]);
        indices.any(|&index| (self.has)(index) && accepts(declared, index))
    }
}

/// Returns true if tensors of one dim on the CPU, with elements of this type, may be accepted: where another tensor
/// binds the element type, only the call decides.
fn takes_vectors(tensor: &codegen::Tensor, element: DType) -> bool {
    let rank = match &tensor.shape {
        Shape::AnyRank => true,
        Shape::Dims(dims) => dims.len() == 1,
        Shape::Trailing { folds, dims } => dims.len() <= 1 + usize::from(*folds),
    };
    let device = match tensor.device {
        codegen::Device::Any => true,
        codegen::Device::Type(device) => device == DeviceType::CPU,
    };
    let dtype = tensor.dtypes.is_empty() || tensor.accepted().contains(&element);
    rank && device && dtype
}
