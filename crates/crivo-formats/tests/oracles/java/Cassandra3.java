import java.io.DataInputStream;
import java.io.FileInputStream;
import org.apache.cassandra.io.util.BufferedDataOutputStreamPlus;
import org.apache.cassandra.utils.FilterFactory;
import org.apache.cassandra.utils.IFilter;

/** Cassandra 3, which also has the order of hashes of the versions before. */
final class Cassandra3 extends Cassandra {
    public static void main(String[] arguments) throws Exception {
        Keys.run(arguments, new Cassandra3());
    }

    private static boolean isOld(String format) {
        return format.equals("cassandra-2");
    }

    @Override
    IFilter create(String format, long n, double fpr) {
        return FilterFactory.getFilter(n, fpr, false, isOld(format));
    }

    @Override
    IFilter read(String format, String file) throws Exception {
        try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
            return FilterFactory.deserialize(in, false, isOld(format));
        }
    }

    @Override
    void write(String format, IFilter filter, BufferedDataOutputStreamPlus out) throws Exception {
        FilterFactory.serialize(filter, out);
    }
}
