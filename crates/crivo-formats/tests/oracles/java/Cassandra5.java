import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.cassandra.io.util.BufferedDataOutputStreamPlus;
import org.apache.cassandra.io.util.DataInputBuffer;
import org.apache.cassandra.utils.BloomFilterSerializer;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

/** Cassandra 5, which also reads the format of version 3. */
final class Cassandra5 extends Cassandra {
    public static void main(String[] arguments) throws Exception {
        Keys.run(arguments, new Cassandra5());
    }

    private static boolean isOld(String format) {
        return format.equals("cassandra-3");
    }

    @Override
    IFilter create(String format, long n, double fpr) {
        return FilterFactory.getFilter(n, fpr);
    }

    @Override
    IFilter read(String format, String file) throws Exception {
        DataInputBuffer in = new DataInputBuffer(Files.readAllBytes(Path.of(file)));
        return BloomFilterSerializer.forVersion(isOld(format)).deserialize(in);
    }

    @Override
    void write(String format, IFilter filter, BufferedDataOutputStreamPlus out) throws Exception {
        filter.serialize(out, false);
    }
}
