"""Sends by Segment's Python SDK: python send.py URL KEY COUNT [gzip]. One event has a NaN."""
import sys

import segment.analytics as analytics

url, key, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
failed = []
analytics.write_key = key
analytics.host = url
analytics.gzip = len(sys.argv) > 4
analytics.max_retries = 3
analytics.on_error = lambda error, items: failed.append(str(error))
analytics.identify("user-1", {"plan": "pro"})
for n in range(count):
    price = float("nan") if n == count // 2 else 19.99
    analytics.track("user-%d" % (n % 10), "Item Viewed", {"n": n, "text": "größer ✓", "price": price})
analytics.flush()
analytics.shutdown()
print("\n".join(failed))
