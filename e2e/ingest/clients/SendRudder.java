import com.rudderstack.sdk.java.analytics.RudderAnalytics;
import com.rudderstack.sdk.java.analytics.Callback;
import com.rudderstack.sdk.java.analytics.messages.IdentifyMessage;
import com.rudderstack.sdk.java.analytics.messages.Message;
import com.rudderstack.sdk.java.analytics.messages.TrackMessage;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends by RudderStack's Java SDK: java -cp JARS SendRudder.java URL KEY COUNT [gzip]. */
public class SendRudder {
  public static void main(String[] args) throws InterruptedException {
    int count = Integer.parseInt(args[2]);
    CountDownLatch left = new CountDownLatch(count + 1);
    AtomicInteger failed = new AtomicInteger();
    RudderAnalytics analytics = RudderAnalytics.builder(args[1]).setDataPlaneUrl(args[0]).setGZIP(args.length > 3).flushQueueSize(20)
        .callback(new Callback() {
          public void success(Message message) {
            left.countDown();
          }

          public void failure(Message message, Throwable error) {
            System.err.println(error);
            failed.incrementAndGet();
            left.countDown();
          }
        }).build();
    analytics.enqueue(IdentifyMessage.builder().userId("user-1").traits(Map.of("plan", "pro")));
    for (int n = 0; n < count; n++) {
      analytics.enqueue(TrackMessage.builder("Item Viewed").userId("user-" + n % 10)
          .properties(Map.of("n", n, "text", "größer ✓")));
    }
    analytics.flush();
    boolean all = left.await(30, TimeUnit.SECONDS);
    analytics.shutdown();
    System.exit(all && failed.get() == 0 ? 0 : 1);
  }
}
