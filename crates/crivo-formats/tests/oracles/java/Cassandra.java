import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.LongPredicate;
import org.apache.cassandra.io.util.BufferedDataOutputStreamPlus;
import org.apache.cassandra.utils.IFilter;
import org.apache.cassandra.utils.MurmurHash;

/** Filter.db files of Cassandra. What differs between its versions is in the classes below this one. */
abstract class Cassandra implements Keys.Program {
    abstract IFilter create(String format, long n, double fpr);

    abstract IFilter read(String format, String file) throws Exception;

    abstract void write(String format, IFilter filter, BufferedDataOutputStreamPlus out) throws Exception;

    /** A partition key of one column, hashed as DecoratedKey does. */
    private static IFilter.FilterKey key(String keyType, long number) {
        ByteBuffer bytes = bytes(keyType, number);
        return hash -> MurmurHash.hash3_x64_128(bytes, bytes.position(), bytes.remaining(), 0, hash);
    }

    private static ByteBuffer bytes(String keyType, long number) {
        switch (keyType) {
            case "int32": return ByteBuffer.allocate(4).putInt(0, Keys.int32(number));
            case "int64": return ByteBuffer.allocate(8).putLong(0, Keys.int64(number));
            case "float": return ByteBuffer.allocate(4).putFloat(0, Keys.float32(number));
            case "double": return ByteBuffer.allocate(8).putDouble(0, Keys.float64(number));
            case "text": return ByteBuffer.wrap(Keys.text(number).getBytes(StandardCharsets.UTF_8));
            case "bytes": return ByteBuffer.wrap(Keys.bytes(number));
            default: throw new IllegalArgumentException(keyType);
        }
    }

    @Override
    public void build(String format, String keyType, long n, double fpr, String file) throws Exception {
        IFilter filter = create(format, n, fpr);
        for (long number = 0; number < n; number++) {
            filter.add(key(keyType, number));
        }
        try (FileChannel channel = FileChannel.open(Path.of(file), StandardOpenOption.WRITE,
                StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING)) {
            // Closing the stream would free its buffer by internals of Java's that are not open to it.
            BufferedDataOutputStreamPlus out = new BufferedDataOutputStreamPlus(channel);
            write(format, filter, out);
            out.flush();
        }
    }

    @Override
    public LongPredicate open(String format, String keyType, String file) throws Exception {
        IFilter filter = read(format, file);
        return number -> filter.isPresent(key(keyType, number));
    }
}
