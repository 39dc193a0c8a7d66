package main

// #cgo LDFLAGS: -lsr_c
// #include <stdlib.h>
// #include <string.h>
// #include <sr.h>
//
// // Go may not pass pointers to memory that holds pointers to its own: what describes a call is made here.
// static sr_status call_with_floats(const sr_module* module, float* data, int64_t rows, int64_t columns,
//                                   sr_results** results) {
//   int64_t shape[] = {rows, columns};
//   sr_tensor tensor = {data, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
//   sr_value argument = {SR_TENSOR, 0, {&tensor}};
//   return sr_module_call(module, &argument, 1, NULL, results);
// }
import "C"

import (
	"errors"
	"runtime"
	"unsafe"
)

// Module is a prepared model, which any number of goroutines may call.
type Module struct{ handle *C.sr_module }

// Load reads a model from a file.
func Load(path string) (*Module, error) {
	runtime.LockOSThread() // the sentence of a failure belongs to the thread
	defer runtime.UnlockOSThread()
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	module := new(Module)
	if C.sr_module_load(text, nil, &module.handle) != C.SR_OK {
		return nil, errors.New(C.GoString(C.sr_last_error()))
	}
	return module, nil
}

// Free releases the model. No call may be in progress.
func (module *Module) Free() { C.sr_module_free(module.handle) }

// Columns returns the second size of the first argument.
func (module *Module) Columns() int {
	var count C.size_t
	specs := unsafe.Slice(C.sr_module_inputs(module.handle, &count), 1)
	return int(unsafe.Slice(specs[0].sizes, 2)[1])
}

// Call gives the model rows of floats, and returns the first tensor of the result, which is dense.
func (module *Module) Call(data []float32, columns int) ([]float32, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var results *C.sr_results
	rows := C.int64_t(len(data) / columns)
	status := C.call_with_floats(module.handle, (*C.float)(&data[0]), rows, C.int64_t(columns), &results)
	if status != C.SR_OK {
		return nil, errors.New(C.GoString(C.sr_last_error()))
	}
	defer C.sr_results_free(results)
	tensor := C.sr_results_tensors(results, nil)
	count := 1
	for _, size := range unsafe.Slice(tensor.shape, tensor.ndim) {
		count *= int(size)
	}
	return append([]float32(nil), unsafe.Slice((*float32)(tensor.data), count)...), nil
}
