package fetch

import (
	"net/netip"
	"strings"
	"testing"

	"whittle"
)

func TestURLs(t *testing.T) {
	f := New(Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for text, code := range map[string]whittle.Code{
		"https://pictures.example/a.jpg?x=1":        0,
		"HTTP://pictures.example:8080/":             0,
		"http://1.1.1.1/":                           0,
		"http://[2606:4700::1111]:80/":              0,
		"http://10.1.2.3/":                          0,
		"":                                          whittle.Invalid,
		"pictures.example/a.jpg":                    whittle.Invalid,
		"//pictures.example/a.jpg":                  whittle.Invalid,
		"/etc/passwd":                               whittle.Invalid,
		"file:///etc/passwd":                        whittle.Invalid,
		"ftp://pictures.example/":                   whittle.Invalid,
		"gopher://127.0.0.1:6379/_x":                whittle.Invalid,
		"data:image/png;base64,AAAA":                whittle.Invalid,
		"javascript:alert(1)":                       whittle.Invalid,
		"http:pictures.example":                     whittle.Invalid,
		"http://":                                   whittle.Invalid,
		"http:///a":                                 whittle.Invalid,
		"http://:80/":                               whittle.Invalid,
		"http://a:b@pictures.example/":              whittle.Invalid,
		"http://a@pictures.example/":                whittle.Invalid,
		"http://pictures.example:0/":                whittle.Invalid,
		"http://pictures.example:99999/":            whittle.Invalid,
		"http://pictures.example:http/":             whittle.Invalid,
		"http://pictures.example/a b":               whittle.Invalid,
		"http://pictures.example\\@127.0.0.1/":      whittle.Invalid,
		"http://pictures.example/\r\nHost: x":       whittle.Invalid,
		"http://pictures.example/\xff":              whittle.Invalid,
		"http://a/" + strings.Repeat("a", maxURL):   whittle.Invalid,
		"http://127.0.0.1/":                         whittle.PermissionDenied,
		"http://10.2.0.1/":                          whittle.PermissionDenied,
		"http://[::1]/":                             whittle.PermissionDenied,
		"http://[::ffff:127.0.0.1]/":                whittle.PermissionDenied,
		"http://[::ffff:7f00:1]/":                   whittle.PermissionDenied,
		"http://[fe80::1%25eth0]/":                  whittle.PermissionDenied,
		"http://[64:ff9b::7f00:1]/":                 whittle.PermissionDenied,
		"http://169.254.169.254/latest/meta-data/":  whittle.PermissionDenied,
		"https://[fd00:ec2::254]/latest/meta-data/": whittle.PermissionDenied,
	} {
		_, err := f.parse(text)
		if (err != nil) != (code != 0) || err != nil && whittle.CodeOf(err) != code {
			t.Errorf("%.60q: %v, want %v", text, err, code)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"1.1.1.1": true, "93.184.215.14": true, "192.0.1.1": true, "172.32.0.1": true, "100.63.255.255": true,
		"100.128.0.1": true, "198.20.0.1": true, "223.255.255.255": true, "2606:4700::1111": true, "::ffff:1.1.1.1": true,

		"0.0.0.0": false, "0.1.2.3": false, "10.255.255.255": false, "100.64.0.1": false, "100.100.100.200": false,
		"127.0.0.1": false, "127.255.255.254": false, "168.63.129.16": false, "169.254.169.254": false,
		"172.16.0.1": false, "172.31.255.255": false, "192.0.0.192": false, "192.168.1.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.255.255.255": false, "240.0.0.1": false,
		"255.255.255.255": false,

		"::": false, "::1": false, "::7f00:1": false, "::ffff:0:0": false, "::ffff:10.0.0.1": false,
		"::ffff:169.254.169.254": false, "64:ff9b::808:808": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false,
		"100::1": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false,
		"5f00::1": false, "fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "fe80::1%eth0": false,
		"fec0::1": false, "ff02::1": false, "2606:4700::1111%eth0": false,
	} {
		if got := open(netip.MustParseAddr(text), nil); got != want {
			t.Errorf("%s is open: %v", text, got)
		}
	}
	if open(netip.Addr{}, prefixes("0.0.0.0/0", "::/0")) {
		t.Error("no address is open")
	}
	loopback := prefixes("127.0.0.1/32")
	for text, want := range map[string]bool{"127.0.0.1": true, "::ffff:127.0.0.1": true, "127.0.0.2": false, "::1": false, "8.8.8.8": true} {
		if got := open(netip.MustParseAddr(text), loopback); got != want {
			t.Errorf("with %v allowed, %s is open: %v", loopback, text, got)
		}
	}
}
