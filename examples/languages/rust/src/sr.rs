//! The part of sr.h that the example needs, with ownership as Rust has it.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
struct Dtype {
    code: u8,
    bits: u8,
    lanes: u16,
}

const FLOAT32: Dtype = Dtype {
    code: 2,
    bits: 32,
    lanes: 1,
};

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    dtype: Dtype,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Value {
    kind: i32,
    count: i32,
    tensor: *const Tensor,
}

#[repr(C)]
struct Spec {
    name: *const c_char,
    kind: *const c_char,
    has_dtype: i32,
    dtype: Dtype,
    ndim: i32,
    sizes: *const i64,
    size_names: *const *const c_char,
    has_default: i32,
}

#[link(name = "sr_c")]
extern "C" {
    fn sr_last_error() -> *const c_char;
    fn sr_module_load(path: *const c_char, options: *const c_void, module: *mut *mut c_void)
        -> i32;
    fn sr_module_free(module: *mut c_void);
    fn sr_module_inputs(module: *const c_void, count: *mut usize) -> *const Spec;
    fn sr_module_call(
        module: *const c_void,
        args: *const Value,
        count: usize,
        options: *const c_void,
        results: *mut *mut c_void,
    ) -> i32;
    fn sr_results_tensors(results: *const c_void, count: *mut usize) -> *const Tensor;
    fn sr_results_free(results: *mut c_void);
}

fn check(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    // The sentence is valid until the next failure in this thread.
    Err(unsafe { CStr::from_ptr(sr_last_error()) }
        .to_string_lossy()
        .into_owned())
}

/// A prepared model, which any number of threads may call.
pub struct Module(*mut c_void);

unsafe impl Send for Module {}
unsafe impl Sync for Module {}

impl Module {
    pub fn load(path: &str) -> Result<Module, String> {
        let path = CString::new(path).map_err(|error| error.to_string())?;
        let mut module = std::ptr::null_mut();
        check(unsafe { sr_module_load(path.as_ptr(), std::ptr::null(), &mut module) })?;
        Ok(Module(module))
    }

    /// The sizes of an argument; -1 where calls may differ.
    pub fn input_sizes(&self, index: usize) -> Vec<i64> {
        let mut count = 0;
        let specs = unsafe { sr_module_inputs(self.0, &mut count) };
        assert!(index < count);
        let spec = unsafe { &*specs.add(index) };
        let dims = usize::try_from(spec.ndim).unwrap_or(0);
        (0..dims)
            .map(|dim| unsafe { *spec.sizes.add(dim) })
            .collect()
    }

    /// Calls the model with one tensor of float32, and returns the first tensor of the result, which is dense.
    pub fn call(&self, data: &[f32], shape: &[i64]) -> Result<Vec<f32>, String> {
        assert_eq!(data.len() as i64, shape.iter().product::<i64>());
        let tensor = Tensor {
            data: data.as_ptr() as *mut c_void,
            device: [1, 0],
            ndim: shape.len() as i32,
            dtype: FLOAT32,
            shape: shape.as_ptr() as *mut i64,
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let argument = Value {
            kind: 1,
            count: 0,
            tensor: &tensor,
        };
        let mut results = std::ptr::null_mut();
        check(unsafe { sr_module_call(self.0, &argument, 1, std::ptr::null(), &mut results) })?;
        let made = unsafe { &*sr_results_tensors(results, std::ptr::null_mut()) };
        let count: i64 = (0..made.ndim as usize)
            .map(|dim| unsafe { *made.shape.add(dim) })
            .product();
        let copy =
            unsafe { std::slice::from_raw_parts(made.data as *const f32, count as usize) }.to_vec();
        unsafe { sr_results_free(results) };
        Ok(copy)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        unsafe { sr_module_free(self.0) }
    }
}
