package units

import (
	"testing"

	"whittle/internal/fatal"
)

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567", -5: "-5", -999: "-999", -1000: "-1,000", -123456: "-123,456"} {
		fatal.Same(t, Grouped(n), want, "%d", n)
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1e-9: "0.01 %", 0.0001: "0.01 %", 0.00025: "0.025 %", 0.0025: "0.25 %", 0.01: "1.0 %", 0.075: "7.5 %", 0.0994: "9.9 %", 0.0995: "10 %", 0.124: "12 %", 1: "100 %",
	} {
		fatal.Same(t, Percent(share), want, "%v", share)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 10<<10 - 1: "10239 B", 10 << 10: "10 KiB", 10<<20 - 1: "10239 KiB", 10 << 20: "10 MiB", 10<<30 - 1: "10239 MiB", 10 << 30: "10 GiB", 20 << 40: "20480 GiB",
	} {
		fatal.Same(t, Size(n), want, "%d", n)
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 5 << 20: "5.0 MiB", 3 << 29: "1.5 GiB", 3 << 49: "1536.0 TiB"} {
		fatal.Same(t, Volume(n), want, "%d", n)
	}
}

func TestCounted(t *testing.T) {
	for n, want := range map[int][3]string{0: {"0 queries", "0 gateways", "0 requests"}, 1: {"1 query", "1 gateway", "1 request"}, 12: {"12 queries", "12 gateways", "12 requests"}} {
		fatal.Same(t, [3]string{Counted(n, "query"), Counted(n, "gateway"), Counted(n, "request")}, want, "%d", n)
	}
}
