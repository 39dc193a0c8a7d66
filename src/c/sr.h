/* sr in C: loads programs of torch.export and TorchScript modules, and calls them.
 *
 * Every function that can fail returns an sr_status and, if that is not SR_OK, leaves a sentence for
 * sr_last_error. No exception leaves the library. Handles are made by functions whose last parameter is a
 * pointer to one, and are released by the sr_..._free of their type, in any order: a handle keeps what it
 * needs of others alive. The functions that free do nothing with null, and all others answer a null handle
 * with SR_ARGUMENT. A handle that has been freed must not be used.
 *
 * "Any number of threads" means that calls with one handle may overlap. Strings are UTF-8 and end with a zero
 * byte. Symbols and structures of this header stay as they are within one SR_ABI_VERSION. Functions may be
 * added.
 */
#ifndef SR_H
#define SR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SR_API __attribute__((visibility("default")))
#else
#define SR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define SR_ABI_VERSION 1

/* --- errors --- */

/* 1 to 12 are the sr::ErrorCode of C++. */
typedef enum sr_status {
  SR_OK = 0,
  SR_LOAD = 1,        /* a file is missing, damaged or of another kind */
  SR_UNSUPPORTED = 2, /* sr cannot run something in the model */
  SR_ARGUMENT = 3,    /* wrong number, name, type or size of an argument */
  SR_CANCELLED = 4,   /* by sr_cancel_request or a timeout */
  SR_BUSY = 5,        /* the runtime, session or queue is in use or full */
  SR_REGISTRY = 6,
  SR_QUANTIZATION = 7,
  SR_PLANNER = 8,
  SR_CHECK_FAILED = 9,      /* under SR_CHECK, a replay differed from the interpreter */
  SR_ASSERTION_FAILED = 10, /* of an exported program, on its data */
  SR_STATE = 11,            /* a call failed and left a session partly written */
  SR_INTERNAL = 12,
  SR_OPERATOR = 100, /* an operator of the model threw */
  SR_OUT_OF_MEMORY = 101
} sr_status;

/* Returns the sentence for the last failure in this thread, or "" if there was none. It stays valid until the
 * next failure in this thread. */
SR_API const char* sr_last_error(void);

/* Returns the SR_ABI_VERSION of the library. */
SR_API int32_t sr_abi_version(void);
/* Returns the version of sr, such as "0.1.0". Valid for ever. */
SR_API const char* sr_version(void);
/* Sets the number of threads that operators of a call on this thread may use, at least 1. The default is the
 * number of cores. A service that calls from many threads sets 1 in each. */
SR_API sr_status sr_set_intra_op_threads(int32_t threads);

/* --- values --- */

/* As DLPack's DLDataType: code 0 int, 1 unsigned int, 2 float, 4 bfloat, 5 complex, 6 bool. */
typedef struct sr_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes; /* 1 */
} sr_dtype;

typedef struct sr_device {
  int32_t type; /* 1: the CPU, the only one */
  int32_t id;   /* 0 */
} sr_device;

/* Has the layout of DLPack's DLTensor (version 1), so that a pointer to one may be passed. */
typedef struct sr_tensor {
  void* data; /* aligned to the size of an element; may be null if there are no elements */
  sr_device device;
  int32_t ndim;
  sr_dtype dtype;
  int64_t* shape;   /* ndim numbers; may be null if ndim is 0 */
  int64_t* strides; /* ndim numbers in elements; null: dense, the last dimension fastest */
  uint64_t byte_offset;
} sr_tensor;

typedef enum sr_kind {
  SR_NONE = 0,
  SR_TENSOR = 1,
  SR_INT = 2,
  SR_FLOAT = 3,
  SR_BOOL = 4,
  SR_STRING = 5,
  SR_LIST = 6,
  SR_TUPLE = 7,
  SR_DICT = 8 /* `count` elements: key, value, key, value ... */
} sr_kind;

/* An argument or a result. Among arguments, a tuple may stand for a list, and an integer for a float. */
typedef struct sr_value {
  int32_t kind;  /* an sr_kind */
  int32_t count; /* of elements; 0 for other kinds */
  union {
    const sr_tensor* tensor;
    int64_t integer; /* also of a bool: 0 or 1 */
    double real;
    const char* text;
    const struct sr_value* elements;
  } as;
} sr_value;

/* What a caller can choose for one call. Null stands for the defaults, which are zeros. */
typedef struct sr_call_options {
  size_t size;              /* sizeof(sr_call_options) */
  const char* const* names; /* of the last `named` arguments, which are given by name */
  size_t named;
  int64_t timeout_ns;       /* the call is cancelled after this time; 0: never */
  struct sr_cancel* cancel; /* null: the call cannot be cancelled otherwise */
} sr_call_options;

/* Cancels calls. Any number of threads and calls may use one. */
typedef struct sr_cancel sr_cancel;
SR_API sr_status sr_cancel_new(sr_cancel** cancel);
/* Ends all calls that were given the handle before their next step, and those that begin later. */
SR_API sr_status sr_cancel_request(sr_cancel* cancel);
SR_API void sr_cancel_free(sr_cancel* cancel);

/* --- results ---
 *
 * Belong to one thread at a time. What the functions return is valid until the results are freed. Tensors
 * that are arguments of the call, or views of them, share the memory of the argument. */
typedef struct sr_results sr_results;
/* Returns the result as the model returns it: a tuple, a list, a dict, a tensor or a number. Returns null,
 * with a sentence for sr_last_error, if there is no memory, or if a part is of another type. */
SR_API const sr_value* sr_results_value(sr_results* results);
/* Returns the tensors of the result, depth first, and writes their number to `count`. */
SR_API const sr_tensor* sr_results_tensors(const sr_results* results, size_t* count);
/* Makes a DLManagedTensor (DLPack, unversioned) of tensor `index`, which outlives the results. The caller
 * calls its deleter. */
SR_API sr_status sr_results_to_dlpack(const sr_results* results, size_t index, void** managed);
SR_API void sr_results_free(sr_results* results);

/* Releases text that a function of this interface has made. */
SR_API void sr_text_free(char* text);

/* --- modules --- */

/* A prepared model. Any number of threads. */
typedef struct sr_module sr_module;

/* Null stands for the defaults, which are zeros. See docs/reference/options.md. */
typedef struct sr_module_options {
  size_t size;                   /* sizeof(sr_module_options) */
  int32_t exact;                 /* results have the bits of LibTorch's */
  int32_t strict;                /* refuses a model that needs the interpreter */
  int32_t map_weights;           /* weights stay in the file, which must not change */
  int32_t updatable_weights;     /* sr_module_update may replace weights */
  int32_t manage_output_tensors; /* the memory of results is used again once they are freed */
  int32_t reserved[3];           /* 0 */
} sr_module_options;

/* Loads an archive of torch.export.save or torch.jit.save. */
SR_API sr_status sr_module_load(const char* path, const sr_module_options* options, sr_module** module);
/* Loads from memory, which may be freed afterwards. */
SR_API sr_status sr_module_load_bytes(const void* bytes, size_t size, const sr_module_options* options,
                                      sr_module** module);
SR_API void sr_module_free(sr_module* module);

/* An argument or a result of a model. */
typedef struct sr_spec {
  const char* name;  /* "" if a result has none */
  const char* type;  /* as TorchScript writes it: "Tensor", "Optional[int]" */
  int32_t has_dtype; /* 0: not a tensor, or the model leaves the dtype open */
  sr_dtype dtype;
  int32_t ndim;                  /* -1: not a tensor, or the model leaves the sizes open */
  const int64_t* sizes;          /* -1 where calls may differ */
  const char* const* size_names; /* "" where the size is a number; equal names stand for equal sizes */
  int32_t has_default;           /* the argument may be left out */
} sr_spec;
/* Return the arguments of a call in order, or its results (of a tuple its elements), and write their number
 * to `count`. Valid until the module is freed. */
SR_API const sr_spec* sr_module_inputs(const sr_module* module, size_t* count);
SR_API const sr_spec* sr_module_outputs(const sr_module* module, size_t* count);

/* Calls the model on an idle runtime of the module, of which there are as many as calls have overlapped. The
 * arguments and all that they point to must stay as they are until the call returns. */
SR_API sr_status sr_module_call(const sr_module* module, const sr_value* args, size_t count,
                                const sr_call_options* options, sr_results** results);
/* Does the same, and copies the tensors of the result, depth first, into the buffers of the caller, whose
 * dtypes and sizes have to be those of the results. */
SR_API sr_status sr_module_call_into(const sr_module* module, const sr_value* args, size_t count,
                                     const sr_tensor* outputs, size_t output_count);
/* Prepares `runtimes` runtimes for calls with these arguments, so that the first call is fast. */
SR_API sr_status sr_module_reserve(const sr_module* module, const sr_value* args, size_t count,
                                   size_t runtimes);
/* Makes a module whose calls run another method of a TorchScript module on the same state. */
SR_API sr_status sr_module_method(const sr_module* module, const char* name, sr_module** method);
/* Frees the runtimes that are not in use. */
SR_API sr_status sr_module_trim(const sr_module* module);
/* Replaces weights by copies, as StaticModule::update does: no call uses old and new ones together. The
 * module must have been loaded with updatable_weights. Unless `strict` is 0, all names must be given. */
SR_API sr_status sr_module_update(const sr_module* module, const char* const* names, const sr_tensor* tensors,
                                  size_t count, int32_t strict);
/* Writes a description of plans, memory and counts as JSON, to be released by sr_text_free. */
SR_API sr_status sr_module_report(const sr_module* module, char** json);

/* --- pools --- */

/* Runtimes of one module with a limit. Any number of threads. */
typedef struct sr_pool sr_pool;
/* `timeout_ns`: how long a call waits for a runtime before it fails with SR_BUSY; negative: for ever.
 * `intra_op_threads`: of each call; 0: those of the calling thread. */
SR_API sr_status sr_pool_new(const sr_module* module, size_t max_runtimes, int64_t timeout_ns,
                             int32_t intra_op_threads, sr_pool** pool);
SR_API sr_status sr_pool_call(const sr_pool* pool, const sr_value* args, size_t count,
                              const sr_call_options* options, sr_results** results);
SR_API sr_status sr_pool_call_into(const sr_pool* pool, const sr_value* args, size_t count,
                                   const sr_tensor* outputs, size_t output_count);
SR_API sr_status sr_pool_report(const sr_pool* pool, char** json);
SR_API void sr_pool_free(sr_pool* pool);

/* --- sessions --- */

/* One stream of calls of a model that keeps state. Any threads, one call at a time: a call during another one
 * fails with SR_BUSY. Sessions of a module may be called at once. */
typedef struct sr_session sr_session;
SR_API sr_status sr_session_new(const sr_module* module, sr_session** session);
/* For a model that takes its state as arguments and returns the new state: the session carries result
 * results[i] to the argument names[i] of the next call. Calls give and return the others. */
SR_API sr_status sr_session_new_carried(const sr_module* module, const char* const* names,
                                        const size_t* results, size_t count, sr_session** session);
/* Makes a session whose calls run another method of a TorchScript module on the same state. */
SR_API sr_status sr_session_method(const sr_session* session, const char* name, sr_session** method);
/* Makes a session with a copy of the current state. */
SR_API sr_status sr_session_clone(const sr_session* session, sr_session** clone);
SR_API sr_status sr_session_call(const sr_session* session, const sr_value* args, size_t count,
                                 const sr_call_options* options, sr_results** results);
SR_API sr_status sr_session_call_into(const sr_session* session, const sr_value* args, size_t count,
                                      const sr_tensor* outputs, size_t output_count);
/* Sets the state to that of a new session. */
SR_API sr_status sr_session_reset(const sr_session* session);
/* Copies the state into results, as a dict of names. */
SR_API sr_status sr_session_state(const sr_session* session, sr_results** state);
/* Sets variables from a dict of names. Unless `strict` is 0, all variables must be given. */
SR_API sr_status sr_session_load(const sr_session* session, const sr_value* state, int32_t strict);
SR_API void sr_session_free(sr_session* session);

/* --- bound calls --- */

/* A call whose arguments and outputs are buffers that stay where they are: the fastest one. One thread at a
 * time. */
typedef struct sr_bound sr_bound;
/* The arguments' and outputs' buffers must exist until the bound call is freed; the descriptions need not.
 * `outputs` has one buffer for each tensor of the result, depth first. Calls the model once; its state stays
 * as it is. */
SR_API sr_status sr_module_bind(const sr_module* module, const sr_value* args, size_t count,
                                const sr_tensor* outputs, size_t output_count, sr_bound** bound);
/* Does the same for a session, which each call advances. */
SR_API sr_status sr_session_bind(const sr_session* session, const sr_value* args, size_t count,
                                 const sr_tensor* outputs, size_t output_count, sr_bound** bound);
/* Reads what the buffers hold now, and writes the outputs. */
SR_API sr_status sr_bound_call(sr_bound* bound);
SR_API void sr_bound_free(sr_bound* bound);

/* --- batchers --- */

/* Joins the requests of many callers to batches. Any number of threads. */
typedef struct sr_batcher sr_batcher;

typedef struct sr_padding {
  size_t argument; /* its position */
  int64_t dim;     /* shorter ones are filled up along it */
  double value;
} sr_padding;

/* Null stands for the defaults, which are zeros. See sr::BatcherOptions. */
typedef struct sr_batcher_options {
  size_t size;                   /* sizeof(sr_batcher_options) */
  int64_t max_rows;              /* of a batch; 0: 64 */
  int64_t max_wait_ns;           /* how long a request waits for others although it could run */
  size_t max_waiting;            /* requests; one more fails with SR_BUSY; 0: 1024 */
  size_t max_running;            /* batches at once; 0: as many as there are processors */
  int32_t has_dim;               /* 0: the first dimension that an exported program leaves open, or else 0 */
  int32_t has_padded_result_dim; /* results are cut to the size of their request along this dimension */
  int64_t dim;                   /* along which requests are joined */
  int64_t padded_result_dim;
  const sr_padding* padding;
  size_t padding_count;
  const size_t* shared; /* positions of arguments without rows */
  size_t shared_count;
  const char* const* state_names; /* variables of the state whose rows lie along another dimension */
  const int64_t* state_dims;
  size_t state_count;
  int32_t equal_rows;       /* 1: the bits of a result do not depend on other requests */
  int32_t intra_op_threads; /* of a batch; 0: 1 */
} sr_batcher_options;

SR_API sr_status sr_batcher_new(const sr_module* module, const sr_batcher_options* options,
                                sr_batcher** batcher);
/* Blocks until the request is answered. `session` is null for a model without state. */
SR_API sr_status sr_batcher_call(const sr_batcher* batcher, const sr_session* session, const sr_value* args,
                                 size_t count, const sr_call_options* options, sr_results** results);
/* Receives the answer of a submitted request, on a thread of the batcher. `results` is null if `status` is
 * not SR_OK, and sr_last_error has the sentence; the function frees them. It must not block. */
typedef void (*sr_done)(void* context, sr_status status, sr_results* results);
/* Returns at once; `done` is called exactly once if it returns SR_OK, perhaps before it returns. The tensors
 * of the arguments must exist until then, the descriptions need not. */
SR_API sr_status sr_batcher_submit(const sr_batcher* batcher, const sr_session* session, const sr_value* args,
                                   size_t count, const sr_call_options* options, sr_done done, void* context);
SR_API sr_status sr_batcher_report(const sr_batcher* batcher, char** json);
/* Waits for submitted requests. Must not be called while a call is in progress. */
SR_API void sr_batcher_free(sr_batcher* batcher);

#ifdef __cplusplus
}
#endif

#endif
