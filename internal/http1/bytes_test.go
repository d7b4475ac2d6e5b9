package http1

import (
	"net/http"
	"strings"
	"testing"
)

// TestByteSets holds each set, byte by byte, to the text of its RFC.
func TestByteSets(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for c := range 256 {
		b := []byte{byte(c)}
		in := func(chars string) bool { return strings.IndexByte(chars, byte(c)) >= 0 }
		for name, got := range map[string][2]bool{
			"token (RFC 9110, 5.6.2)":         {IsToken(b), in(letters + "!#$%&'*+-.^_`|~")},
			"value (RFC 9110, 5.5)":           {IsValue(b), c >= ' ' && c != 0x7f || c == '\t'},
			"target (no control, no blank)":   {IsTarget(b), c > ' ' && c != 0x7f},
			"host (RFC 3986, 3.2.2 and port)": {all(b, inHost), in(letters + "-._~!$&'()*+,;=%:[]")},
			"scheme (RFC 3986, 3.1)":          {all(b, inScheme), in(letters + "+-.")},
			"hexadecimal digit":               {hexDigit(byte(c)) >= 0, in("0123456789abcdefABCDEF")},
		} {
			if got[0] != got[1] {
				t.Errorf("%#x in %s: %v", c, name, got[0])
			}
		}
	}
	for _, empty := range []bool{IsToken(""), IsTarget(""), !IsValue("")} {
		if empty {
			t.Error("an empty text is a token, a target, or no value")
		}
	}
	for i, c := range "0123456789abcdef" {
		if hexDigit(byte(c)) != int64(i) || hexDigit(strings.ToUpper(string(c))[0]) != int64(i) {
			t.Errorf("the digit %c is %d", c, hexDigit(byte(c)))
		}
	}
}

// TestControlAt finds a control character wherever it is, and takes no other byte
// for one: eight bytes are looked at together.
func TestControlAt(t *testing.T) {
	for c := range 256 {
		control := c < ' ' && c != '\t' || c == 0x7f
		for size := 1; size <= 18; size++ {
			for at := range size {
				for _, filler := range []byte{'a', '\t', ' ', '~', 0x80, 0xff} {
					b := []byte(strings.Repeat(string([]byte{filler}), size))
					b[at] = byte(c)
					want := size
					if control {
						want = at
					}
					if got := controlAt(b, 0); got != want {
						t.Fatalf("%#x at %d of %d, filled with %#x: found at %d", c, at, size, filler, got)
					}
					if got := controlAt(b, at+1); got != size {
						t.Fatalf("%#x at %d of %d is found behind it, at %d", c, at, size, got)
					}
				}
			}
		}
	}
}

func TestDecimal(t *testing.T) {
	for text, want := range map[string]struct {
		n        int64
		ok, fits bool
	}{
		"0": {0, true, true}, "007": {7, true, true}, "1234567890": {1234567890, true, true},
		"999999999999999999": {999999999999999999, true, true}, "1000000000000000000": {0, true, false},
		"99999999999999999999999999": {0, true, false}, strings.Repeat("0", 100) + "1": {1, true, true},
		"": {}, "-1": {}, "+1": {}, "1 ": {}, "0x1": {}, "1_0": {}, "/": {}, ":": {}, "99999999999999999999a": {},
	} {
		n, ok, fits := decimal([]byte(text))
		if ok != want.ok || ok && fits != want.fits || fits && ok && n != want.n {
			t.Errorf("%q: %d, %v, %v", text, n, ok, fits)
		}
	}
}

// TestKinds finds each name in any case, and none that differs in one byte.
func TestKinds(t *testing.T) {
	for name, want := range map[string]kind{
		"host": host, "content-length": contentLength, "transfer-encoding": transferEncoding, "connection": connection,
		"upgrade": upgrade, "expect": expect, "trailer": trailer, "te": hop, "keep-alive": hop, "proxy-connection": hop,
		"proxy-authenticate": hop, "proxy-authorization": hop,
	} {
		for _, text := range []string{name, strings.ToUpper(name), http.CanonicalHeaderKey(name)} {
			if got := kindOf([]byte(text)); got != want {
				t.Errorf("%s is of kind %d", text, got)
			}
		}
		for i := range name {
			other := []byte(name)
			other[i] ^= 0x40 // such as m for -, and not the other case
			if got := kindOf(other); got != 0 {
				t.Errorf("%s is of kind %d", other, got)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]options{
		"": 0, " , ,": 0, "close": asksClose, "Keep-Alive": asksKeepAlive, "UPGRADE": asksUpgrade, "x": namesFields,
		"\tclose ,upgrade": asksClose | asksUpgrade, "keep-alive,x,": asksKeepAlive | namesFields, "upgrade;q=1": asksUpgrade,
		"closed": namesFields, ",close": asksClose, ",": 0, "a,,close": namesFields | asksClose, ";close": 0, "x;close": namesFields,
	} {
		if got := optionsOf([]byte(text)); got != want {
			t.Errorf("%q: %b, want %b", text, got, want)
		}
	}
}

// TestSizeLines holds the bounds of a chunk's size line exactly.
func TestSizeLines(t *testing.T) {
	extension := func(n int) string { return "1;" + strings.Repeat("x", n-len("1;\r\n")) + "\r\n" }
	// Each such chunk adds 16 bytes and twice its one byte less than its line.
	costly := strings.Repeat(extension(1042)+"a\r\n", 16)
	for _, tc := range []struct {
		text   string
		status int
	}{
		{"000000000000001\r\n", 0},
		{"0000000000000001\r\n", 400},
		{"1; a =\t\"b c\"\r\n", 0},
		{"fffffffffffffff\r\n", 413}, // 2^60 - 1: a length is below 10^18
		{"de0b6b3a763ffff\r\n", 0},   // 10^18 - 1
		{"de0b6b3a7640000\r\n", 413},
		{extension(maxSizeLine), 0},
		{extension(maxSizeLine + 1), 400},
		{costly, 0},
		{costly + "1;" + strings.Repeat("x", 15) + "\r\n", 400},
		{costly + "1;" + strings.Repeat("x", 14) + "\r\n", 0},
		{costly + "2\r\nab\r\n", 0},
	} {
		for _, step := range []int{len(tc.text), 1} {
			var b Body
			b.Begin(Framing{Kind: Chunked})
			if err := follow(&b, tc.text, step); statusOf(err) != tc.status {
				t.Errorf("%.20q of %d by %d: %v, want status %d", tc.text, len(tc.text), step, err, tc.status)
			}
		}
	}
}

// TestRest follows a chunked body byte by byte: what comes without framing in
// between is known at each.
func TestRest(t *testing.T) {
	var b Body
	b.Begin(Framing{Kind: Chunked})
	want := []int64{0, 0, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0}
	for i, c := range []byte("3\r\nabc\r\n0\r\n\r\n") {
		if i == len(want) {
			break // the empty line must come whole
		}
		if _, _, err := b.Next([]byte{c}); err != nil {
			t.Fatal(err)
		}
		if got := b.Rest(); got != want[i] {
			t.Errorf("behind byte %d: %d, want %d", i, got, want[i])
		}
	}
}

func TestTooLarge(t *testing.T) {
	for status, want := range map[int]bool{400: false, 413: true, 414: true, 431: true, 501: false, 505: false} {
		if e := (&Error{status, "x"}); e.TooLarge() != want || e.Error() != "HTTP/1.1: x" {
			t.Errorf("%d: %v, %q", status, e.TooLarge(), e)
		}
	}
}
