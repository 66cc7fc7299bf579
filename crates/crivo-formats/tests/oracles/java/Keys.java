import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The keys of the two-way tests: a function of a number. */
final class Keys {
    static int int32(long number) {
        return (int) (number * 7919 - 3000000);
    }

    static long int64(long number) {
        return number * 7919000003L - 3000000;
    }

    static long uint64(long number) {
        return number * 0x9e3779b97f4a7c15L;
    }

    static float float32(long number) {
        return number * 0.5f - 100.0f;
    }

    static double float64(long number) {
        return number * 0.5 - 100.0;
    }

    static String text(long number) {
        return "ключ-" + number + "-é";
    }

    static byte[] bytes(long number) {
        int tail = (int) (number % 37);
        byte[] bytes = ByteBuffer.allocate(4 + tail).order(ByteOrder.LITTLE_ENDIAN)
            .putInt((int) number).array();
        for (int j = 0; j < tail; j++) {
            bytes[4 + j] = (byte) (number * 31 + j * 17);
        }
        return bytes;
    }

    /** What one program does to keys. */
    interface Program {
        /** Makes a filter of keys 0 to n. */
        void build(String format, String keyType, long n, double fpr, String file) throws Exception;

        /** Opens a filter, to be asked by number. */
        java.util.function.LongPredicate open(String format, String keyType, String file) throws Exception;
    }

    /** build FORMAT KEY-TYPE N FPR FILE, or ask FORMAT KEY-TYPE N FILE. */
    static void run(String[] arguments, Program program) throws Exception {
        String format = arguments[1], keyType = arguments[2];
        long n = Long.parseLong(arguments[3]);
        if (arguments[0].equals("build")) {
            program.build(format, keyType, n, Double.parseDouble(arguments[4]), arguments[5]);
            return;
        }
        java.util.function.LongPredicate filter = program.open(format, keyType, arguments[4]);
        StringBuilder answers = new StringBuilder();
        for (long number = 0; number < 2 * n; number++) {
            answers.append(filter.test(number) ? '1' : '0');
        }
        System.out.println(answers);
    }
}
