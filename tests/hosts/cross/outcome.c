/* Part of the host for other machines: outcomes of calls, each on one line without addresses. */

#include "cross.h"

#include <inttypes.h>
#include <stdio.h>

static void print_value(const TVMFFIAny *value);

void print_text(const char *data, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (data[i] == '\n') printf("\\n");
    else putchar(data[i]);
  }
}

void print_error(int status) {
  TVMFFIObjectHandle object = NULL;
  TVMFFIErrorMoveFromRaised(&object);
  printf("status %d", status);
  if (!object) return (void)printf(" without an error");
  const TVMFFIErrorCell *error = (const TVMFFIErrorCell *)((const TVMFFIObject *)object + 1);
  printf(", %.*s: ", (int)error->kind.size, error->kind.data);
  print_text(error->message.data, error->message.size);
  TVMFFIObjectDecRef(object);
}

static void print_tensor(const DLTensor *view) {
  printf("tensor (%d, %d, %d), aligned %d, device (%d, %d),", view->dtype.code, view->dtype.bits, view->dtype.lanes,
         (uintptr_t)view->data % 64 == 0, (int)view->device.device_type, view->device.device_id);
  for (int32_t i = 0; i < view->ndim; i++)
    printf(" %" PRId64 ":%" PRId64, view->shape[i], view->strides ? view->strides[i] : -1);
}

/* Prints an object whose class has no cell that is read here. */
static void print_class(const TVMFFIObject *object) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(object->type_index);
  if (info) print_text(info->type_key.data, info->type_key.size);
  else printf("class %d", object->type_index);
}

static void print_object(const TVMFFIObject *object) {
  const void *cell = object + 1;
  switch (object->type_index) {
    case kTVMFFIStr:
    case kTVMFFIBytes: {
      const TVMFFIByteArray *text = cell;
      printf("text %d \"", object->type_index);
      print_text(text->data, text->size);
      printf("\"");
      break;
    }
    case kTVMFFIShape: {
      const TVMFFIShapeCell *shape = cell;
      printf("shape");
      for (size_t i = 0; i < shape->size; i++) printf(" %" PRId64, shape->data[i]);
      break;
    }
    case kTVMFFIArray:
    case kTVMFFIList: {
      const struct {
        const TVMFFIAny *data;
        int64_t size;
      } *all = cell;
      printf("sequence %d [", object->type_index);
      for (int64_t i = 0; i < all->size; i++) print_value(all->data + i);
      printf("]");
      break;
    }
    case kTVMFFITensor: print_tensor(cell); break;
    default: print_class(object);
  }
}

static void print_value(const TVMFFIAny *value) {
  printf("(type index ");
  if (value->type_index < kTVMFFIStaticObjectBegin) {
    printf("%d, length %u, ", value->type_index, value->small_str_len);
    // Machines make different NaNs.
    if (value->type_index == kTVMFFIFloat && value->v_float64 != value->v_float64) printf("nan");
    else printf("bits %" PRId64, value->v_int64);
  } else if (!value->v_obj || value->v_obj->type_index != value->type_index) {
    printf("%d without an object of it", value->type_index);
  } else {
    // Classes that are registered at run time are told by their keys.
    if (value->type_index < kTVMFFIDynObjectBegin) printf("%d, length %u, ", value->type_index, value->small_str_len);
    print_object(value->v_obj);
  }
  printf(")");
}

void print_result(TVMFFIAny *result) {
  print_value(result);
  if (result->type_index >= kTVMFFIStaticObjectBegin && result->v_obj) TVMFFIObjectDecRef(result->v_obj);
}
