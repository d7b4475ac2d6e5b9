package h2

import (
	"encoding/binary"
	"fmt"
)

// The types of frames (RFC 9113, section 6).
const (
	frameData uint8 = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePushPromise
	framePing
	frameGoAway
	frameWindowUpdate
	frameContinuation
)

// The flags of frames.
const (
	flagEndStream  uint8 = 0x1
	flagAck        uint8 = 0x1
	flagEndHeaders uint8 = 0x4
	flagPadded     uint8 = 0x8
	flagPriority   uint8 = 0x20
)

// The settings (section 6.5.2).
const (
	settingTableSize     uint16 = 1
	settingPush          uint16 = 2
	settingStreams       uint16 = 3
	settingInitialWindow uint16 = 4
	settingMaxFrame      uint16 = 5
	settingHeaderList    uint16 = 6
)

// errCode is why a stream or a connection was ended (section 7).
type errCode uint32

const (
	codeNone         errCode = 0x0
	codeProtocol     errCode = 0x1
	codeInternal     errCode = 0x2
	codeFlowControl  errCode = 0x3
	codeStreamClosed errCode = 0x5
	codeFrameSize    errCode = 0x6
	codeRefused      errCode = 0x7
	codeCancel       errCode = 0x8
	codeCompression  errCode = 0x9
	codeCalm         errCode = 0xb
)

const (
	// preface is how a client begins.
	preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	// frameHead is how long the head of a frame is.
	frameHead = 9
	// maxFrame is the longest payload that is read, as RFC 9113 has it where nothing else is
	// said, and the longest that is written.
	maxFrame = 16 << 10
	// startWindow is the window of streams and of the connection before any settings.
	startWindow = 64<<10 - 1
	// maxWindow is the largest that a window may become.
	maxWindow = 1<<31 - 1
	// tableSize is that of the tables of header compression.
	tableSize = 4 << 10
)

// connError ends a connection.
type connError struct {
	code   errCode
	reason string
}

// Error implements error.
func (e connError) Error() string {
	return fmt.Sprintf("HTTP/2 connection error %d: %s", e.code, e.reason)
}

// streamError ends a stream.
type streamError struct {
	stream uint32
	code   errCode
}

// Error implements error.
func (e streamError) Error() string {
	return fmt.Sprintf("HTTP/2 stream error %d on stream %d", e.code, e.stream)
}

// frame is one frame as it came. Its payload is valid until the next one is read.
type frame struct {
	kind, flags uint8
	stream      uint32
	payload     []byte
}

func (f *frame) has(flag uint8) bool { return f.flags&flag != 0 }

// content gives the payload without its padding.
func (f *frame) content() ([]byte, error) {
	p := f.payload
	if !f.has(flagPadded) {
		return p, nil
	}
	if len(p) == 0 {
		return nil, connError{codeFrameSize, "a padded frame has no length of its padding"}
	}
	pad := int(p[0])
	if p = p[1:]; pad > len(p) {
		return nil, connError{codeProtocol, "a frame's padding is longer than the frame"}
	}
	return p[:len(p)-pad], nil
}

// appendFrameHead writes the head of a frame.
func appendFrameHead(b []byte, length int, kind, flags uint8, stream uint32) []byte {
	return append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// frame puts a frame there. The caller holds mu.
func (o *output) frame(kind, flags uint8, stream uint32, payload ...byte) {
	b := o.buffer()
	b.b = append(appendFrameHead(b.b, len(payload), kind, flags, stream), payload...)
}

// numbers puts a frame there whose payload is numbers. The caller holds mu.
func (o *output) numbers(kind uint8, stream uint32, numbers ...uint32) {
	b := o.buffer()
	b.b = appendFrameHead(b.b, 4*len(numbers), kind, 0, stream)
	for _, n := range numbers {
		b.b = binary.BigEndian.AppendUint32(b.b, n)
	}
}
