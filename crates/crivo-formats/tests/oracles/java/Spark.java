import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.util.function.LongPredicate;
import org.apache.spark.util.sketch.BloomFilter;

/** Filters of Apache Spark, with the jar of its sketches. */
final class Spark implements Keys.Program {
    public static void main(String[] arguments) throws Exception {
        Keys.run(arguments, new Spark());
    }

    private static Object key(String keyType, long number) {
        switch (keyType) {
            case "int32": return Keys.int32(number);
            case "int64": return Keys.int64(number);
            case "text": return Keys.text(number);
            case "bytes": return Keys.bytes(number);
            default: throw new IllegalArgumentException(keyType);
        }
    }

    @Override
    public void build(String format, String keyType, long n, double fpr, String file) throws Exception {
        long bits = BloomFilter.optimalNumOfBits(n, fpr);
        BloomFilter.Version version =
            format.equals("spark-v1") ? BloomFilter.Version.V1 : BloomFilter.Version.V2;
        BloomFilter filter = BloomFilter.create(version, n, bits, 0);
        for (long number = 0; number < n; number++) {
            filter.put(key(keyType, number));
        }
        try (FileOutputStream out = new FileOutputStream(file)) {
            filter.writeTo(out);
        }
    }

    @Override
    public LongPredicate open(String format, String keyType, String file) throws Exception {
        try (FileInputStream in = new FileInputStream(file)) {
            BloomFilter filter = BloomFilter.readFrom(in);
            return number -> filter.mightContain(key(keyType, number));
        }
    }
}
