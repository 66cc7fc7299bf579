import java.io.FileInputStream;
import org.apache.cassandra.io.util.BufferedDataOutputStreamPlus;
import org.apache.cassandra.io.util.DataInputPlus.DataInputStreamPlus;
import org.apache.cassandra.utils.BloomFilter;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

/** Cassandra 4. */
final class Cassandra4 extends Cassandra {
    public static void main(String[] arguments) throws Exception {
        Keys.run(arguments, new Cassandra4());
    }

    @Override
    IFilter create(String format, long n, double fpr) {
        return FilterFactory.getFilter(n, fpr);
    }

    @Override
    IFilter read(String format, String file) throws Exception {
        try (DataInputStreamPlus in = new DataInputStreamPlus(new FileInputStream(file))) {
            return BloomFilterSerializer.deserialize(in, false);
        }
    }

    @Override
    void write(String format, IFilter filter, BufferedDataOutputStreamPlus out) throws Exception {
        BloomFilterSerializer.serialize((BloomFilter) filter, out);
    }
}
