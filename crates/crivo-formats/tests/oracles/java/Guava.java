import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.function.LongFunction;
import java.util.function.LongPredicate;

/** Filters of Guava. */
final class Guava implements Keys.Program {
    public static void main(String[] arguments) throws Exception {
        Keys.run(arguments, new Guava());
    }

    /** A funnel, and the keys that it takes. */
    private record Type<T>(Funnel<? super T> funnel, LongFunction<T> key) {
        static Type<?> named(String keyType) {
            switch (keyType) {
                case "int32": return new Type<Integer>(Funnels.integerFunnel(), Keys::int32);
                case "int64": return new Type<Long>(Funnels.longFunnel(), Keys::int64);
                case "text": return new Type<String>(Funnels.stringFunnel(StandardCharsets.UTF_8), Keys::text);
                case "utf16": return new Type<String>(Funnels.unencodedCharsFunnel(), Keys::text);
                case "bytes": return new Type<byte[]>(Funnels.byteArrayFunnel(), Keys::bytes);
                default: throw new IllegalArgumentException(keyType);
            }
        }

        void build(String format, long n, double fpr, String file) throws Exception {
            BloomFilter<T> filter =
                format.equals("guava") ? BloomFilter.create(funnel, n, fpr) : createOld(n, fpr);
            for (long number = 0; number < n; number++) {
                filter.put(key.apply(number));
            }
            try (FileOutputStream out = new FileOutputStream(file)) {
                filter.writeTo(out);
            }
        }

        /** A filter with the strategy of old versions, which new ones read but do not offer. */
        @SuppressWarnings("unchecked")
        BloomFilter<T> createOld(long n, double fpr) throws Exception {
            Class<?> strategies = Class.forName("com.google.common.hash.BloomFilterStrategies");
            Class<?> strategy = Class.forName("com.google.common.hash.BloomFilter$Strategy");
            Method create = BloomFilter.class.getDeclaredMethod(
                "create", Funnel.class, long.class, double.class, strategy);
            create.setAccessible(true);
            return (BloomFilter<T>) create.invoke(null, funnel, n, fpr, strategies.getEnumConstants()[0]);
        }

        LongPredicate open(String file) throws Exception {
            try (FileInputStream in = new FileInputStream(file)) {
                BloomFilter<T> filter = BloomFilter.readFrom(in, funnel);
                return number -> filter.mightContain(key.apply(number));
            }
        }
    }

    @Override
    public void build(String format, String keyType, long n, double fpr, String file) throws Exception {
        Type.named(keyType).build(format, n, fpr, file);
    }

    @Override
    public LongPredicate open(String format, String keyType, String file) throws Exception {
        return Type.named(keyType).open(file);
    }
}
