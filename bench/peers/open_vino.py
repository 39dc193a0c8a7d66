"""OpenVINO by its C API: the Python API spends ten times as long as a small model on dictionaries of results."""

import ctypes
import pathlib

import openvino
import torch

OPTIONS = {
    'PERFORMANCE_HINT': 'LATENCY',
    'NUM_STREAMS': '1',
    'INFERENCE_PRECISION_HINT': 'f32',  # otherwise it would use bfloat16 if the processor supports it
    'ENABLE_CPU_PINNING': 'NO',  # the others are not pinned either
}
ELEMENT_TYPES = {torch.float32: 4, torch.int64: 10}


class Property(ctypes.Structure):
    _fields_ = [('key', ctypes.c_char_p), ('value', ctypes.c_char_p)]


class Shape(ctypes.Structure):
    _fields_ = [('rank', ctypes.c_int64), ('sizes', ctypes.POINTER(ctypes.c_int64))]


def load() -> ctypes.CDLL:
    (path,) = (pathlib.Path(openvino.__file__).parent / 'libs').glob('libopenvino_c.so*')
    return ctypes.CDLL(str(path))


class Request:
    """A compiled model whose inputs and result are bound: `infer` reads and writes their memory."""

    def __init__(self, path: pathlib.Path, inputs, output: torch.Tensor, threads: int = 1):
        self.library, self.tensors = load(), (*inputs, output)  # the runtime has their addresses only
        core, model, self.request = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        options = OPTIONS | {'INFERENCE_NUM_THREADS': str(threads)}
        properties = (Property * len(options))(*((k.encode(), v.encode()) for k, v in options.items()))
        self.must('ov_core_create', ctypes.byref(core))
        self.must('ov_core_compile_model_from_file_props', core, str(path).encode(), b'CPU',
                  ctypes.c_size_t(len(options)), properties, ctypes.byref(model))
        self.must('ov_compiled_model_create_infer_request', model, ctypes.byref(self.request))
        for i, tensor in enumerate(inputs):
            self.must('ov_infer_request_set_input_tensor_by_index', self.request, ctypes.c_size_t(i),
                      self.bound(tensor))
        self.must('ov_infer_request_set_output_tensor_by_index', self.request, ctypes.c_size_t(0), self.bound(output))

    def must(self, function: str, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            self.library.ov_get_last_err_msg.restype = ctypes.c_char_p
            said = self.library.ov_get_last_err_msg() or b''
            raise RuntimeError(f'{function} returned {status}: {said.decode(errors="replace")}')

    def bound(self, tensor: torch.Tensor) -> ctypes.c_void_p:
        sizes = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
        made = ctypes.c_void_p()
        self.must('ov_tensor_create_from_host_ptr', ELEMENT_TYPES[tensor.dtype], Shape(tensor.dim(), sizes),
                  ctypes.c_void_p(tensor.data_ptr()), ctypes.byref(made))
        return made

    def call(self):
        """Without arguments, for the shortest way from Python to the library."""
        infer, request = self.library.ov_infer_request_infer, self.request

        def call(alive=self):
            if infer(request):
                alive.must('ov_infer_request_infer', request)

        return call
