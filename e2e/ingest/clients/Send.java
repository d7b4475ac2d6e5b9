import com.segment.analytics.Analytics;
import com.segment.analytics.Callback;
import com.segment.analytics.messages.IdentifyMessage;
import com.segment.analytics.messages.Message;
import com.segment.analytics.messages.TrackMessage;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Sends by Segment's Java SDK: java -cp JARS Send.java URL KEY COUNT. */
public class Send {
  public static void main(String[] args) throws InterruptedException {
    int count = Integer.parseInt(args[2]);
    CountDownLatch left = new CountDownLatch(count + 1);
    AtomicInteger failed = new AtomicInteger();
    Analytics analytics = Analytics.builder(args[1]).endpoint(args[0]).flushQueueSize(20)
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
