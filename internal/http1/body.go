package http1

import "io"

// Body follows a message's body through the bytes that carry it, in whatever
// pieces they arrive. Set Limits and Tolerance before the first Begin. The zero
// value is a body that has ended.
type Body struct {
	Limits    Limits
	Tolerance Tolerance

	state   bodyState
	left    int64 // of a body of known length, or of the present chunk
	allowed int64 // content that the limit still allows
	excess  int64 // see maxExcess
	line    int   // bytes of the present size line
	digits  int   // of them, the size's
	trailer Fields
}

type bodyState uint8

const (
	bodyDone bodyState = iota
	bodyLength
	bodyUntilClose
	chunkSize      // the size's digits
	chunkPadding   // blanks behind the size
	chunkExtension // up to the line's CR
	chunkSizeLF    // the LF behind it
	chunkContent
	chunkCR // the line end behind a chunk
	chunkLF
	chunkTrailer
)

// Begin starts a body.
func (b *Body) Begin(f Framing) {
	b.left, b.allowed, b.excess, b.line, b.digits = f.Length, b.Limits.body(), 0, 0, 0
	b.trailer.reset(0)
	b.state = bodyDone
	switch f.Kind {
	case NoBody:
	case Length:
		if f.Length > 0 {
			b.state = bodyLength
		}
	case Chunked:
		b.state, b.left = chunkSize, 0
	case UntilClose:
		b.state = bodyUntilClose
	}
}

// Done reports whether the body has ended. What follows it belongs to the next
// message.
func (b *Body) Done() bool { return b.state == bodyDone }

// Rest is the number of bytes that follow as content with nothing in between: of
// the body, or of the present chunk. It is 0 where framing comes next, and -1
// until close. Such bytes may be read to any place and then be given to Next.
func (b *Body) Rest() int64 {
	switch b.state {
	case bodyUntilClose:
		return -1
	case bodyLength, chunkContent:
		return b.left
	}
	return 0
}

// Trailer returns the fields behind the last chunk. They are valid as long as
// the bytes of the Next that ended the body.
func (b *Body) Trailer() *Fields { return &b.trailer }

// End says what it means that the connection has ended here: nil where the body
// ends with it or has ended before, else io.ErrUnexpectedEOF.
func (b *Body) End() error {
	switch b.state {
	case bodyUntilClose:
		b.state = bodyDone
		return nil
	case bodyDone:
		return nil
	}
	return io.ErrUnexpectedEOF
}

// Next takes the next bytes of a message. It returns the first stretch of
// content in them, as a part of in, and how many bytes of in it has used:
// framing before the content, and the content. Call it again with the rest as
// long as it uses any and the body has not ended. Only a trailer section is left
// unused until it is whole: then more is to be read behind it. With an error, n
// is what came before the byte or the trailer section that is refused.
func (b *Body) Next(in []byte) (content []byte, n int, err error) {
	for n < len(in) {
		switch b.state {
		case bodyDone:
			return nil, n, nil
		case bodyLength, chunkContent, bodyUntilClose:
			return b.content(in, n)
		case chunkTrailer:
			used, fault := b.trailerSection(in[n:])
			if fault != nil {
				return nil, n, fault
			}
			if used == 0 {
				return nil, n, nil
			}
			n += used
		case chunkCR, chunkLF:
			if in[n] != "\r\n"[b.state-chunkCR] {
				return nil, n, errChunkEnd
			}
			n++
			if b.state++; b.state > chunkLF {
				b.state, b.line, b.digits, b.left = chunkSize, 0, 0, 0
			}
		default:
			used, fault := b.sizeLine(in[n:])
			n += used
			if fault != nil {
				return nil, n, fault
			}
		}
	}
	return nil, n, nil
}

func (b *Body) content(in []byte, at int) (content []byte, n int, err error) {
	content = in[at:]
	if b.state != bodyUntilClose {
		content = content[:min(int64(len(content)), b.left)]
		b.left -= int64(len(content))
	}
	if b.allowed -= int64(len(content)); b.allowed < 0 {
		return nil, at, errTooMuch
	}
	if b.left == 0 && b.state == bodyLength {
		b.state = bodyDone
	} else if b.left == 0 && b.state == chunkContent {
		b.state = chunkCR
	}
	return content, at + len(content), nil
}

// sizeLine goes through a chunk's size line, as far as it has arrived.
func (b *Body) sizeLine(in []byte) (n int, err *Error) {
	for n < len(in) && b.state != chunkContent && b.state != chunkTrailer {
		c := in[n]
		n++
		if b.line++; b.line > maxSizeLine {
			return n - 1, errChunkLine
		}
		if b.state == chunkSizeLF {
			if c != '\n' {
				return n - 1, errLineEnd
			}
			if err = b.sized(); err != nil {
				return n - 1, err
			}
			continue
		}
		if err = b.sizeByte(c); err != nil {
			return n - 1, err
		}
	}
	return n, nil
}

func (b *Body) sizeByte(c byte) *Error {
	const most = 15 // digits, so that a size stays below 2^60
	if b.state == chunkSize {
		if v := hexDigit(c); v >= 0 {
			if b.digits++; b.digits > most {
				return errChunkSize
			}
			b.left = b.left<<4 | v
			return nil
		}
	}
	switch {
	case b.digits == 0:
		return errChunkSize
	case c == '\r' && (b.state != chunkPadding || b.Tolerance&PaddedSize != 0):
		b.state = chunkSizeLF
	case b.state == chunkExtension:
		if c < ' ' && c != '\t' || c == 0x7f {
			return errByte
		}
	case blank(c):
		b.state = chunkPadding
	case c == ';':
		b.state = chunkExtension
	default:
		return errChunkSize
	}
	return nil
}

// sized is called at the end of a size line.
func (b *Body) sized() *Error {
	b.excess = max(0, b.excess+int64(b.line)-16-2*b.left)
	switch {
	case b.excess > maxExcess:
		return errExcess
	case b.left > b.allowed:
		return errTooMuch
	case b.left > 0:
		b.state = chunkContent
	default:
		b.state = chunkTrailer
	}
	return nil
}

// trailerSection reads the lines behind the last chunk; n is 0 while they are
// incomplete.
func (b *Body) trailerSection(in []byte) (n int, err *Error) {
	done, err := b.trailer.lines(in, &b.Limits, b.Tolerance&Folding)
	if err != nil || !done {
		return 0, err
	}
	for i := range b.trailer.spans {
		if b.Tolerance&FramingInTrailer == 0 && b.trailer.spans[i].kind.framing() {
			return 0, errTrailerField
		}
	}
	b.state = bodyDone
	return b.trailer.at, nil
}
