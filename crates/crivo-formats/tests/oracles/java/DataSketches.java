import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongPredicate;
import org.apache.datasketches.filters.bloomfilter.BloomFilter;
import org.apache.datasketches.filters.bloomfilter.BloomFilterBuilder;
import org.apache.datasketches.memory.Memory;

/** Bloom filters of Apache DataSketches. */
final class DataSketches implements Keys.Program {
    public static void main(String[] arguments) throws Exception {
        Keys.run(arguments, new DataSketches());
    }

    private static void update(BloomFilter filter, String keyType, long number) {
        switch (keyType) {
            case "int32": filter.update(Keys.int32(number)); break;
            case "int64": filter.update(Keys.int64(number)); break;
            case "uint64": filter.update(Keys.uint64(number)); break;
            case "float": filter.update((double) Keys.float32(number)); break;
            case "double": filter.update(Keys.float64(number)); break;
            case "text": filter.update(Keys.text(number)); break;
            case "bytes": filter.update(Keys.bytes(number)); break;
            default: throw new IllegalArgumentException(keyType);
        }
    }

    private static boolean query(BloomFilter filter, String keyType, long number) {
        switch (keyType) {
            case "int32": return filter.query(Keys.int32(number));
            case "int64": return filter.query(Keys.int64(number));
            case "uint64": return filter.query(Keys.uint64(number));
            case "float": return filter.query((double) Keys.float32(number));
            case "double": return filter.query(Keys.float64(number));
            case "text": return filter.query(Keys.text(number));
            case "bytes": return filter.query(Keys.bytes(number));
            default: throw new IllegalArgumentException(keyType);
        }
    }

    @Override
    public void build(String format, String keyType, long n, double fpr, String file) throws Exception {
        BloomFilter filter = BloomFilterBuilder.createByAccuracy(n, fpr, 0);
        for (long number = 0; number < n; number++) {
            update(filter, keyType, number);
        }
        Files.write(Path.of(file), filter.toByteArray());
    }

    @Override
    public LongPredicate open(String format, String keyType, String file) throws Exception {
        BloomFilter filter = BloomFilter.heapify(Memory.wrap(Files.readAllBytes(Path.of(file))));
        return number -> query(filter, keyType, number);
    }
}
