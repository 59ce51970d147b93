//! Functions of PyTorch's stable C ABI, which operators call, and what is found out about PyTorch when they are
//! registered. Facts are in [`abi_spec::torch`]; the code that calls the functions is in
//! [`routines`](mod@super::routines).

use abi_spec::layout::DL_TENSOR;
use abi_spec::torch::{MOST_DEVICES, MOST_DTYPES};

use crate::ir::Builder;
use crate::ir::typed::{Handle, Int, Ref, structs};
use crate::lower::dynamic::{entries, variable};

entries! {
    "tvm_ffi_codegen.torch";
    InitFragment "aoti_torch_library_init_fragment" init_fragment(
        namespace: Ref<u8>, file: Ref<u8>, line: Int<u32>, library: Ref<Ref<Library>>) true;
    InitImpl "aoti_torch_library_init_impl" init_impl(
        namespace: Ref<u8>, key: Ref<u8>, file: Ref<u8>, line: Int<u32>, library: Ref<Ref<Library>>) true;
    Define "aoti_torch_library_def" define(library: Ref<Library>, schema: Ref<u8>) true;
    Implement "torch_library_impl" implement(library: Ref<Library>, name: Ref<u8>, kernel: Ref<u8>, version: Int<u64>) true;
    GetConstData "torch_get_const_data_ptr" get_const_data(tensor: Ref<Tensor>, data: Ref<Ref<u8>>) true;
    GetMutableData "torch_get_mutable_data_ptr" get_mutable_data(tensor: Ref<Tensor>, data: Ref<Ref<u8>>) true;
    GetDim "aoti_torch_get_dim" get_dim(tensor: Ref<Tensor>, rank: Ref<i64>) true;
    /// The extents are the tensor's, as the strides are.
    GetSizes "aoti_torch_get_sizes" get_sizes(tensor: Ref<Tensor>, extents: Ref<Ref<i64>>) true;
    GetStrides "aoti_torch_get_strides" get_strides(tensor: Ref<Tensor>, strides: Ref<Ref<i64>>) true;
    GetDtype "aoti_torch_get_dtype" get_dtype(tensor: Ref<Tensor>, dtype: Ref<i32>) true;
    GetDeviceType "aoti_torch_get_device_type" get_device_type(tensor: Ref<Tensor>, ty: Ref<i32>) true;
    GetDeviceIndex "aoti_torch_get_device_index" get_device_index(tensor: Ref<Tensor>, index: Ref<i32>) true;
    /// The new handle shares the tensor.
    NewHandle "aoti_torch_new_tensor_handle" new_handle(tensor: Ref<Tensor>, shared: Ref<Ref<Tensor>>) true;
    DeleteTensor "aoti_torch_delete_tensor_object" delete_tensor(tensor: Ref<Tensor>) true;
    EmptyStrided "aoti_torch_empty_strided" empty_strided(
        rank: Int<i64>, extents: Ref<i64>, strides: Ref<i64>, dtype: Int<i32>, device_type: Int<i32>, device: Int<i32>,
        tensor: Ref<Ref<Tensor>>) true;
    StringLength "torch_string_length" string_length(text: Ref<Str>, length: Ref<u64>) true;
    StringData "torch_string_c_str" string_data(text: Ref<Str>, data: Ref<Ref<u8>>) true;
    DeleteString "torch_delete_string" delete_string(text: Ref<Str>) true;
    NewString "torch_new_string_handle" new_string(data: Ref<u8>, length: Int<u64>, text: Ref<u64>) true;
    ListSize "torch_list_size" list_size(list: Ref<List>, size: Ref<u64>) true;
    ListItem "torch_list_get_item" list_item(list: Ref<List>, index: Int<u64>, item: Ref<u64>) true;
    DeleteList "torch_delete_list" delete_list(list: Ref<List>) true;
    NewList "torch_new_list_reserve_size" new_list(size: Int<u64>, list: Ref<Ref<List>>) true;
    /// The list takes the word over.
    PushBack "torch_list_push_back" push_back(list: Ref<List>, word: Int<u64>) true;
    /// Returns the number of the layout of tensors with strides.
    LayoutStrided "aoti_torch_layout_strided" layout_strided() true;
    /// Throws an exception of C++ with a message if the condition is false.
    Check "aoti_torch_check" check(condition: Int<i32>, function: Ref<u8>, file: Ref<u8>, line: Int<u32>, message: Ref<u8>) -> (), true;
    /// Since 2.11. Makes a tensor of memory that `delete` gives back, a function of the data and of `context`.
    FromBlob "torch_from_blob" from_blob(
        data: Ref<u8>, rank: Int<i64>, extents: Ref<i64>, strides: Ref<i64>, offset: Int<i64>, dtype: Int<i32>,
        device_type: Int<i32>, device: Int<i32>, tensor: Ref<Ref<Tensor>>, layout: Int<i32>, metadata: Ref<u8>,
        metadata_size: Int<i64>, delete: Ref<u8>, context: Ref<u8>) false;
    /// Since 2.12.
    DefineTagged "torch_library_def_with_tags" define_tagged(
        library: Ref<Library>, schema: Ref<u8>, tags: Ref<i32>, count: Int<i32>) false;
    /// Returns the tag of operators that compilers may trust.
    CompliantTag "torch_tag_pt2_compliant_tag" compliant_tag() false;
    /// Since 2.13.
    NewWord "torch_new_stable_ivalue" new_word(word: Ref<Ref<u64>>) false;
    DeleteWord "torch_delete_stable_ivalue" delete_word(word: Ref<u64>) false;
    /// Warns.
    Warn "aoti_torch_warn" warn(function: Ref<u8>, file: Ref<u8>, line: Int<u32>, message: Ref<u8>) -> (), false;
    CudaStream "aoti_torch_get_current_cuda_stream" cuda_stream(device: Int<i32>, stream: Ref<Ref<u8>>) false;
}

/// Opaque types of PyTorch.
pub(crate) enum Library {}
pub(crate) enum Tensor {}
pub(crate) enum Str {}
pub(crate) enum List {}

/// Size of the struct of a tensor that PyTorch has allocated: a `DLTensor`, then the handle.
pub(crate) const LENT_SIZE: u32 = DL_TENSOR.size + 8;

/// Byte offset of the handle.
pub(crate) const LENT_HANDLE: i32 = DL_TENSOR.size as i32;

structs! {
    /// Meanings of PyTorch's numbers.
    Facts FactsFields: FACTS_SIZE, 8 => {
        // The 32 bits of a `DLDataType` for each number of an element type; 0 for those that are not known.
        dtypes: Nested<u32> = 0,
        // The `DLDeviceType` for each number of a type of devices, likewise.
        devices: Nested<u32> = DEVICES,
        // `operator delete`, where `DeleteWord` is missing.
        operator_delete: Field<Ref<u8>> = OPERATORS,
        // `operator new`, where `NewWord` is missing.
        operator_new: Field<Ref<u8>> = OPERATORS + 8,
        // The function that returns what the last exception of the thread says; NULL before 2.13.
        exception: Field<Ref<u8>> = OPERATORS + 16,
    }
}

const DEVICES: i32 = 4 * MOST_DTYPES as i32;

const OPERATORS: i32 = DEVICES + 4 * MOST_DEVICES as i32;

const FACTS_SIZE: u32 = OPERATORS as u32 + 24;

/// Emits the address of the facts, which are written before the first operator is registered.
pub(crate) fn facts(b: &mut Builder<'_>) -> Ref<Facts> {
    let (base, offset) =
        variable::<u64>(b, "tvm_ffi_codegen.torch.facts", FACTS_SIZE as u64 / 8).parts();
    Ref::within(base, offset)
}

/// Returns the symbol of the function that checks the arguments of a function and allocates its results, for an
/// operator of PyTorch: a function of the FFI, but what it writes is an array of tensors of [`LENT_SIZE`] bytes each.
pub(crate) fn allocator_symbol(name: &str) -> String {
    format!("tvm_ffi_codegen.allocate.{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Type;
    use crate::lower::dynamic::Entries;

    /// The types of the functions are those of [`abi_spec::torch::FUNCTIONS`], which are checked against PyTorch's
    /// headers.
    #[test]
    fn functions_have_their_types() {
        for entry in Entry::ALL {
            let (_, text) = abi_spec::torch::FUNCTIONS
                .into_iter()
                .find(|(name, _)| *name == entry.name())
                .unwrap_or_else(|| panic!("{}", entry.name()));
            let params = text.replace("void (*)(StableIValue*, uint64_t, uint64_t)", "code*");
            let params = params.replace("void (*)(void*, void*)", "code*");
            let (result, params) = params.split_once('(').unwrap();
            let params = params.strip_suffix(')').unwrap();
            let expected =
                params.split(", ").filter(|param| !param.is_empty()).map(|param| match param {
                    "bool" | "int32_t" | "uint32_t" => Type::I32,
                    "int64_t" | "uint64_t" | "size_t" | "StableIValue" => Type::I64,
                    _ => Type::Ptr,
                });
            let signature = entry.signature();
            let found = signature.params.iter().map(|param| param.ty);
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{text}");
            let result_type = match result {
                "void" => None,
                "AOTITorchError" | "int32_t" => Some(Type::I32),
                other => panic!("{other}"),
            };
            assert_eq!(signature.result.map(|result| result.ty), result_type, "{text}");
        }
    }
}
