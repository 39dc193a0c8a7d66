// Calls a model from Java 17 by JNA: loads it, gives it a batch of rows, and compares the scores with numbers from a
// file. Arguments: the model, a file of float32 inputs, and a file of the results that are expected.
import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.PointerByReference;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicReference;

public final class QuickStart {
  /** The functions of sr.h that the example needs. */
  interface SrC extends Library {
    SrC INSTANCE = Native.load("sr_c", SrC.class);

    String sr_last_error();

    int sr_module_load(String path, Pointer options, PointerByReference module);

    void sr_module_free(Pointer module);

    Pointer sr_module_inputs(Pointer module, Pointer count);

    int sr_module_call(Pointer module, Value args, long count, Pointer options, PointerByReference results);

    Pointer sr_results_tensors(Pointer results, Pointer count);

    void sr_results_free(Pointer results);
  }

  /** sr_tensor, with the fields of its structures in a row. */
  @Structure.FieldOrder({"data", "deviceType", "deviceId", "ndim", "code", "bits", "lanes", "shape", "strides", "byteOffset"})
  public static class Tensor extends Structure {
    public Pointer data;
    public int deviceType = 1, deviceId, ndim;
    public byte code = 2, bits = 32;
    public short lanes = 1;
    public Pointer shape, strides;
    public long byteOffset;

    public Tensor() {}

    Tensor(Pointer at) {
      super(at);
      read();
    }
  }

  /** sr_value, of a tensor. */
  @Structure.FieldOrder({"kind", "count", "tensor"})
  public static class Value extends Structure {
    public int kind = 1, count;
    public Pointer tensor;
  }

  /** sr_spec. */
  @Structure.FieldOrder({"name", "type", "hasDtype", "code", "bits", "lanes", "ndim", "sizes", "sizeNames", "hasDefault"})
  public static class Spec extends Structure {
    public Pointer name, type;
    public int hasDtype;
    public byte code, bits;
    public short lanes;
    public int ndim;
    public Pointer sizes, sizeNames;
    public int hasDefault;

    Spec(Pointer at) {
      super(at);
      read();
    }
  }

  /** A prepared model, which any number of threads may call. */
  static final class Module implements AutoCloseable {
    private final Pointer handle;

    Module(String path) {
      PointerByReference made = new PointerByReference();
      check(SrC.INSTANCE.sr_module_load(path, null, made));
      handle = made.getValue();
    }

    int columns() {
      return (int) new Spec(SrC.INSTANCE.sr_module_inputs(handle, null)).sizes.getLong(8);
    }

    float[] call(float[] data, int columns) {
      Memory copy = new Memory(4L * data.length), shape = new Memory(16);
      copy.write(0, data, 0, data.length);
      shape.setLong(0, data.length / columns);
      shape.setLong(8, columns);
      Tensor tensor = new Tensor();
      tensor.data = copy;
      tensor.ndim = 2;
      tensor.shape = shape;
      tensor.write();
      Value argument = new Value();
      argument.tensor = tensor.getPointer();
      PointerByReference results = new PointerByReference();
      check(SrC.INSTANCE.sr_module_call(handle, argument, 1, null, results));
      Reference.reachabilityFence(tensor);  // which holds the memory that the call reads
      Tensor scores = new Tensor(SrC.INSTANCE.sr_results_tensors(results.getValue(), null));
      int count = 1;
      for (long size : scores.shape.getLongArray(0, scores.ndim)) count *= (int) size;
      float[] floats = scores.data.getFloatArray(0, count);
      SrC.INSTANCE.sr_results_free(results.getValue());
      return floats;
    }

    @Override
    public void close() {
      SrC.INSTANCE.sr_module_free(handle);
    }
  }

  private static void check(int status) {
    if (status != 0) throw new IllegalStateException(SrC.INSTANCE.sr_last_error());
  }

  private static float[] readFloats(String path) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(path))).order(ByteOrder.LITTLE_ENDIAN);
    float[] floats = new float[bytes.capacity() / 4];
    bytes.asFloatBuffer().get(floats);
    return floats;
  }

  public static void main(String[] arguments) throws Exception {
    float[] data = readFloats(arguments[1]), expected = readFloats(arguments[2]);
    try (Module module = new Module(arguments[0])) {
      int columns = module.columns();
      float[][] scores = new float[4][];
      AtomicReference<Throwable> failed = new AtomicReference<>();
      Thread[] threads = new Thread[4];
      // The second call is recorded, and later ones are replays. Threads share the module.
      for (int i = 0; i < threads.length; ++i) {
        final int call = i;
        threads[i] = new Thread(() -> scores[call] = module.call(data, columns));
        threads[i].setUncaughtExceptionHandler((thread, error) -> failed.set(error));
        threads[i].start();
      }
      for (Thread thread : threads) thread.join();
      if (failed.get() != null) throw new IllegalStateException(failed.get());
      float largest = 0;
      for (float[] rows : scores) {
        for (int i = 0; i < expected.length; ++i) largest = Math.max(largest, Math.abs(rows[i] - expected[i]));
      }
      System.out.printf("%d rows, largest difference %g%n", data.length / columns, largest);
      if (largest >= 1e-5) System.exit(1);
    }
  }
}
