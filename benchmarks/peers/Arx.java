import java.io.File;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXLattice.ARXNode;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

/**
 * ARX on its own Adult: the generalization with the least loss, every column a quasi-identifier.
 *
 * The first search warms the machine up, the second is timed; reading files is not.
 */
class Arx {
    static final Charset TEXT = StandardCharsets.UTF_8;

    public static void main(String[] words) throws Exception {
        File folder = new File(words[0]);
        int k = Integer.parseInt(words[1]);
        double suppressed = Double.parseDouble(words[2]);
        search(read(folder), k, suppressed);
        Data data = read(folder);
        long start = System.nanoTime();
        ARXNode best = search(data, k, suppressed).getGlobalOptimum();
        double seconds = (System.nanoTime() - start) / 1e9;
        List<String> levels = new ArrayList<>();
        for (String column : columns(folder)) {
            levels.add(String.valueOf(best.getGeneralization(column)));
        }
        String said = "{\"task\": \"k-anonymity\", \"seconds\": %.6f, \"levels\": [%s]}";
        System.out.println(String.format(Locale.ROOT, said, seconds, String.join(", ", levels)));
    }

    static Data read(File folder) throws Exception {
        Data data = Data.create(new File(folder, "adult.csv"), TEXT, ';');
        for (String column : columns(folder)) {
            File labels = new File(folder, "adult_hierarchy_" + column + ".csv");
            data.getDefinition().setAttributeType(column, Hierarchy.create(labels, TEXT, ';'));
        }
        return data;
    }

    static String[] columns(File folder) throws Exception {
        return Files.readAllLines(new File(folder, "adult.csv").toPath(), TEXT).get(0).split(";");
    }

    static ARXResult search(Data data, int k, double suppressed) throws Exception {
        ARXConfiguration asked = ARXConfiguration.create();
        asked.addPrivacyModel(new KAnonymity(k));
        asked.setSuppressionLimit(suppressed);
        asked.setQualityModel(Metric.createLossMetric(0.5d, Metric.AggregateFunction.ARITHMETIC_MEAN));
        return new ARXAnonymizer().anonymize(data, asked);
    }
}
