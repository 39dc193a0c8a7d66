/* Calls a model from C: loads it, gives it a batch of rows, and compares the scores with numbers from a file.
 * Arguments: the model, a file of float32 inputs, and a file of the results that are expected. */
#include <math.h>
#include <sr.h>
#include <stdio.h>
#include <stdlib.h>

static void check(sr_status status) {
  if (status == SR_OK) return;
  fprintf(stderr, "quick_start: %s\n", sr_last_error());
  exit(1);
}

static float* read_floats(const char* path, size_t* count) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    fprintf(stderr, "quick_start: %s cannot be read\n", path);
    exit(1);
  }
  *count = (size_t)ftell(file) / sizeof(float);
  rewind(file);
  float* floats = malloc(*count * sizeof(float));
  if (floats == NULL || fread(floats, sizeof(float), *count, file) != *count) exit(1);
  fclose(file);
  return floats;
}

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  sr_module* module = NULL;
  check(sr_module_load(argv[1], NULL, &module));

  size_t count = 0, expected_count = 0;
  float* data = read_floats(argv[2], &count);
  float* expected = read_floats(argv[3], &expected_count);
  const int64_t columns = sr_module_inputs(module, NULL)[0].sizes[1];
  int64_t shape[] = {(int64_t)count / columns, columns};
  const sr_tensor x = {data, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
  const sr_value argument = {SR_TENSOR, 0, {&x}};

  /* The second call is recorded, and later ones are replays. */
  float largest = 0;
  for (int call = 0; call < 4; ++call) {
    sr_results* results = NULL;
    check(sr_module_call(module, &argument, 1, NULL, &results));
    const sr_tensor* scores = sr_results_tensors(results, NULL);
    const float* rows = scores->data;
    for (size_t i = 0; i < expected_count; ++i) largest = fmaxf(largest, fabsf(rows[i] - expected[i]));
    sr_results_free(results);
  }
  printf("%lld rows, largest difference %g\n", (long long)shape[0], (double)largest);
  sr_module_free(module);
  free(expected);
  free(data);
  return largest < 1e-5f ? 0 : 1;
}
