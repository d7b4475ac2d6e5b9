package process

import "testing"

// NetHTTP has net/http read all requests of the gateways under test.
var NetHTTP bool

// BothWays runs all tests of a room over the fast path, and then over net/http.
type BothWays struct{ *testing.M }

// Run gives the worse status of the two.
func (m BothWays) Run() int {
	code := m.M.Run()
	NetHTTP = true
	return max(code, m.M.Run())
}
