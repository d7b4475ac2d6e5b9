package event_test

import (
	"fmt"
	"strings"
)

// sample is an event of about n bytes, such as a browser sends.
func sample(i, n int) string {
	s := fmt.Sprintf(`{"timestamp":"2026-03-01T12:00:04.%03dZ","integrations":{},"userId":"user-%d","anonymousId":"4b1c3d51-57cd-4a1e-9f4d-2f5a6c7e%04d","type":"track","event":"Product Viewed","messageId":"ajs-next-1772366404-%08d","properties":{"product_id":"507f1f77bcf86cd799439011","sku":"G-32","category":"Games","name":"Monopoly: 3rd Edition","brand":"Hasbro","variant":"200 pieces","price":18.99,"quantity":1,"coupon":"MAYDEALS","currency":"usd","position":3,"value":18.99,"url":"https://www.example.com/product/path","image_url":"https://www.example.com/product/path.jpg"},"context":{"page":{"path":"/product/path","referrer":"https://www.example.com/","search":"","title":"Product","url":"https://www.example.com/product/path"},"userAgent":"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/121.0.0.0 Safari/537.36","locale":"en-GB","library":{"name":"analytics.js","version":"npm:next-1.62.0"},"timezone":"Europe/Berlin"`, i%1000, i, i%10000, i)
	const end = `,"note":""}}`
	return s + end[:9] + strings.Repeat("x", max(0, n-len(s)-len(end))) + end[9:]
}

func batchOf(n, size int) []byte {
	all := make([]string, n)
	for i := range all {
		all[i] = sample(i, size)
	}
	return []byte(`{"batch":[` + strings.Join(all, ",") + `],"sentAt":"2026-03-01T12:00:09.000Z"}`)
}
