// Package proxyproto reads and writes the header by which a proxy tells on a connection
// whose it is: the PROXY protocol, versions 1 (a line) and 2 (binary). Bytes in, bytes
// out: no I/O, no clock. A header is read strictly, and its length is bounded.
package proxyproto

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strconv"
	"strings"
)

const (
	// MaxHeader is how long a header is at most. Version 2 allows 64 KiB; what is in
	// use is some hundred bytes.
	MaxHeader = 4096
	// maxLine is the longest header of version 1, its end included.
	maxLine = 107

	signature = "\r\n\r\n\x00\r\nQUIT\n"
	fixed     = len(signature) + 4
)

// Header is what is told of a connection.
type Header struct {
	// Version is that of the protocol: 1 or 2.
	Version int
	// Source and Destination are of the connection that the sender accepted. They are
	// not valid where it tells none: it connects for itself (a health check), or
	// accepted something else than TCP or UDP.
	Source, Destination netip.AddrPort
	// TLS says that the connection which the sender accepted was encrypted. Version 2
	// only.
	TLS bool
}

// ErrNone is the error for bytes that begin no header.
var ErrNone = errors.New("the connection does not begin with a PROXY protocol header")

// Parse reads a header at the beginning of b and gives its length. 0 without an error:
// more bytes are needed, of which there are at most MaxHeader.
func Parse(b []byte) (h Header, n int, err error) {
	switch {
	case begins(b, signature):
		return parseBinary(b)
	case begins(b, "PROXY "):
		return parseLine(b)
	}
	return Header{}, 0, ErrNone
}

// Wants is how many bytes at least are missing from the part of a header that has come,
// so that nothing behind the header is read with it.
func Wants(part []byte) int {
	const shortest = len("PROXY UNKNOWN\r\n")
	switch {
	case len(part) < shortest:
		return shortest - len(part)
	case !begins(part, signature) && part[len(part)-1] == '\r':
		return 1
	case !begins(part, signature):
		return 2
	case len(part) < fixed:
		return fixed - len(part)
	}
	return max(1, fixed+int(binary.BigEndian.Uint16(part[fixed-2:]))-len(part))
}

// begins reports whether b begins with what is wanted, so far as there is any of b.
func begins(b []byte, want string) bool {
	n := min(len(b), len(want))
	return string(b[:n]) == want[:n]
}

func parseLine(b []byte) (Header, int, error) {
	end := bytes.IndexByte(b[:min(len(b), maxLine)], '\n')
	switch {
	case end < 0 && len(b) >= maxLine:
		return Header{}, 0, fmt.Errorf("a PROXY line is longer than %d bytes", maxLine)
	case end < 0:
		return Header{}, 0, nil
	case b[end-1] != '\r':
		return Header{}, 0, errors.New("a PROXY line does not end with CR and LF")
	}
	line := string(b[:end-1])
	h := Header{Version: 1}
	if line == "PROXY UNKNOWN" || strings.HasPrefix(line, "PROXY UNKNOWN ") {
		return h, end + 1, nil
	}
	parts := strings.Split(line, " ")
	if len(parts) != 6 || parts[1] != "TCP4" && parts[1] != "TCP6" {
		return Header{}, 0, fmt.Errorf("a PROXY line is not a family with two addresses and two ports: %q", line)
	}
	four := parts[1] == "TCP4"
	var err, wrong error
	if h.Source, err = parsePair(parts[2], parts[4], four); err == nil {
		h.Destination, wrong = parsePair(parts[3], parts[5], four)
	}
	if err = errors.Join(err, wrong); err != nil {
		return Header{}, 0, err
	}
	return h, end + 1, nil
}

func parsePair(address, port string, four bool) (netip.AddrPort, error) {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Is4() != four || ip.Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%q is no address of the family that a PROXY line names", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != port {
		return netip.AddrPort{}, fmt.Errorf("%q in a PROXY line is not a port", port)
	}
	return netip.AddrPortFrom(ip, uint16(n)), nil
}

// The fields of version 2's fixed part.
const (
	commandLocal = 0x20
	commandProxy = 0x21

	familyNone, familyIPv4, familyIPv6, familyUnix = 0, 1, 2, 3
	transportNone, transportDatagram               = 0, 2
)

// lengthOf is how many bytes of addresses a family has.
var lengthOf = [...]int{familyNone: 0, familyIPv4: 2*4 + 4, familyIPv6: 2*16 + 4, familyUnix: 2 * 108}

func parseBinary(b []byte) (Header, int, error) {
	if len(b) < fixed {
		return Header{}, 0, nil
	}
	command, family, transport := b[len(signature)], int(b[len(signature)+1]>>4), b[len(signature)+1]&0xf
	n := fixed + int(binary.BigEndian.Uint16(b[fixed-2:]))
	switch {
	case command != commandLocal && command != commandProxy:
		return Header{}, 0, fmt.Errorf("a PROXY header has the version and command %#02x, and there are 0x20 and 0x21", command)
	case family >= len(lengthOf) || transport > transportDatagram:
		return Header{}, 0, fmt.Errorf("a PROXY header has the family and transport %#02x, which mean nothing", b[len(signature)+1])
	case n > MaxHeader:
		return Header{}, 0, fmt.Errorf("a PROXY header of %d bytes is longer than %d", n, MaxHeader)
	case len(b) < n:
		return Header{}, 0, nil
	}
	h := Header{Version: 2}
	if command == commandLocal { // whatever it holds is to be skipped
		return h, n, nil
	}
	if transport == transportNone {
		family = familyNone
	}
	rest := b[fixed:n]
	if len(rest) < lengthOf[family] {
		return Header{}, 0, errors.New("a PROXY header is shorter than the addresses of its family")
	}
	switch family {
	case familyNone: // the sender tells no addresses, and what stands there has no form
		return h, n, nil
	case familyIPv4:
		h.Source, h.Destination = pairs(rest, 4)
	case familyIPv6:
		h.Source, h.Destination = pairs(rest, 16)
	}
	err := h.extensions(b[:n], fixed+lengthOf[family])
	if err != nil {
		return Header{}, 0, err
	}
	return h, n, nil
}

func pairs(b []byte, size int) (source, destination netip.AddrPort) {
	from, _ := netip.AddrFromSlice(b[:size])
	to, _ := netip.AddrFromSlice(b[size : 2*size])
	ports := b[2*size:]
	return netip.AddrPortFrom(from, binary.BigEndian.Uint16(ports)), netip.AddrPortFrom(to, binary.BigEndian.Uint16(ports[2:]))
}

// The extensions that are looked at.
const (
	extensionSum = 0x03
	extensionTLS = 0x20

	overTLS = 0x01
)

// extensions reads what stands behind the addresses: a checksum, which must fit, and
// whether the client's connection was encrypted.
func (h *Header) extensions(whole []byte, at int) error {
	for at < len(whole) {
		if len(whole)-at < 3 {
			return errors.New("a PROXY header ends within an extension")
		}
		kind, size := whole[at], int(binary.BigEndian.Uint16(whole[at+1:]))
		at += 3
		if len(whole)-at < size {
			return errors.New("a PROXY header ends within an extension")
		}
		value := whole[at : at+size]
		switch kind {
		case extensionSum:
			if size != 4 || sumWithout(whole, at) != binary.BigEndian.Uint32(value) {
				return errors.New("the checksum of a PROXY header does not fit")
			}
		case extensionTLS:
			if size < 5 {
				return errors.New("the TLS extension of a PROXY header is too short")
			}
			h.TLS = value[0]&overTLS != 0
		}
		at += size
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumWithout is the checksum of a header with zeros where the checksum itself stands.
func sumWithout(whole []byte, at int) uint32 {
	sum := crc32.Update(0, castagnoli, whole[:at])
	sum = crc32.Update(sum, castagnoli, make([]byte, 4))
	return crc32.Update(sum, castagnoli, whole[at+4:])
}
