import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * HDFS with one data node in a folder, for as long as its standard input is open. A line of that is
 * {@code put} or {@code get} and two paths, between tabs: what to copy, and to where.
 */
public final class Hdfs {
    private Hdfs() {
    }

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
        try {
            cluster.waitActive();
            FileSystem files = cluster.getFileSystem();
            System.out.println(files.getUri());
            BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split("\t");
                Path from = new Path(words[1]);
                Path to = new Path(words[2]);
                if (words[0].equals("put")) {
                    files.mkdirs(to.getParent());
                    files.copyFromLocalFile(from, to);
                } else {
                    files.copyToLocalFile(from, to);
                }
                System.out.println("done");
            }
        } finally {
            cluster.shutdown();
        }
    }
}
