package http1

import (
	"strings"
)

const (
	benchRequest = "POST /v1/track HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: analytics\r\nAccept: */*\r\n" +
		"Content-Type: application/json\r\nAuthorization: Basic a2V5Og==\r\nContent-Length: 1000\r\n\r\n"
	benchResponse = "HTTP/1.1 200 OK\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\nContent-Type: application/json\r\n" +
		"Cache-Control: no-store\r\nX-Request-Id: 0123456789abcdef0123456789abcdef\r\nContent-Length: 27\r\n\r\n"
)

// With50Fields is what a browser behind several proxies sends.
func with50Fields() string {
	return strings.TrimSuffix(benchRequest, "\r\n") + strings.Repeat("X-Some-Header: a value of usual length, 40 bytes or so\r\n", 44) + "\r\n"
}
