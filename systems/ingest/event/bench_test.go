package event_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"whittle/internal/jsonscan"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
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

// BenchmarkBatch reads 50 events of 1 KB a time; encoding/json only decodes the
// same body, and only checks it, for comparison. The least that has to be done to
// the same bytes is to copy them, to sum them up and to go over them as JSON once.
func BenchmarkBatch(b *testing.B) {
	const events = 50
	body := batchOf(events, 1024)
	perEvent := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
	}
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		var p event.Parser
		c := call(event.Bulk)
		for b.Loop() {
			if got, err := p.Parse(event.Limits{}, c, body); err != nil || len(got.Items) != events {
				b.Fatal(err)
			}
		}
		perEvent(b)
	})
	once := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				do()
			}
			perEvent(b)
		})
	}
	into := make([]byte, len(body))
	once("copy", func() { copy(into, body) })
	once("sum", func() { stream.Checksum(body) })
	once("scan", func() {
		if jsonscan.Check(body, jsonscan.MaxDepth) != nil {
			b.Fatal("not JSON")
		}
	})
	b.Run("encoding-json-valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if !json.Valid(body) {
				b.Fatal("not JSON")
			}
		}
		perEvent(b)
	})
	b.Run("encoding-json-decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var v any
			d := json.NewDecoder(bytes.NewReader(body))
			d.UseNumber()
			if err := d.Decode(&v); err != nil {
				b.Fatal(err)
			}
		}
		perEvent(b)
	})
}

// BenchmarkSingle reads one event of 1 KB a time.
func BenchmarkSingle(b *testing.B) {
	body := []byte(sample(1, 1024))
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	var p event.Parser
	c := call(event.Track)
	for b.Loop() {
		if _, err := p.Parse(event.Limits{}, c, body); err != nil {
			b.Fatal(err)
		}
	}
}
