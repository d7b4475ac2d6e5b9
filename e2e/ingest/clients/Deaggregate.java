import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Scanner;
import software.amazon.kinesis.retrieval.AggregatorUtil;
import software.amazon.kinesis.retrieval.KinesisClientRecord;

/**
 * What the KCL does with a shard's records before it hands them to a consumer, by
 * the KCL's own code: stdin has a partition key, a sequence number and base64 a
 * line, stdout a partition key and what the consumer gets.
 */
public class Deaggregate {
  public static void main(String[] args) {
    Scanner in = new Scanner(System.in);
    AggregatorUtil kcl = new AggregatorUtil();
    while (in.hasNext()) {
      KinesisClientRecord record = KinesisClientRecord.builder().partitionKey(in.next()).sequenceNumber(in.next())
          .data(ByteBuffer.wrap(Base64.getDecoder().decode(in.next()))).build();
      for (KinesisClientRecord user : kcl.deaggregate(List.of(record))) {
        System.out.println(user.partitionKey() + " " + StandardCharsets.UTF_8.decode(user.data()).toString().trim());
      }
    }
  }
}
