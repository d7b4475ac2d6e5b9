"""Sends by RudderStack's Python SDK: python rudder.py URL KEY COUNT [gzip]."""
import sys

import rudderstack.analytics as analytics

url, key, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
failed = []
analytics.write_key = key
analytics.dataPlaneUrl = url
analytics.gzip = len(sys.argv) > 4
analytics.max_retries = 3
analytics.on_error = lambda error, items: failed.append(str(error))
analytics.identify("user-1", {"plan": "pro"})
for n in range(count):
    analytics.track("user-%d" % (n % 10), "Item Viewed", {"n": n, "text": "größer ✓"})
analytics.flush()
analytics.shutdown()
print("\n".join(failed))
sys.exit(1 if failed else 0)
