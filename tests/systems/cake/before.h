// What precedes the file of a host: what nvcc has without an include, and no code for GPUs.

#pragma once

#include <device_launch_parameters.h>

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

// The files' only assembly is PTX, always `asm volatile(…)`. A word that no parenthesis follows stays what it is.
#define asm
#define volatile(...) ((void)0)
