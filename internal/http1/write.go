package http1

import "strconv"

// The Append functions write a message to the end of b, piece by piece: the
// first line, the fields, EndHead, and the body. What could be read as something
// else than it was given is not written, and reported by false: b is then
// returned as it was.

// AppendRequestLine writes a request's first line, of version 1.1.
func AppendRequestLine[M, T string | []byte](b []byte, method M, target T) (out []byte, ok bool) {
	if !IsToken(method) || !IsTarget(target) {
		return b, false
	}
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, target...)
	return append(b, " HTTP/1.1\r\n"...), true
}

// AppendStatusLine writes a response's first line, of version 1.1. The status
// must be from 100 to 999; the reason may be empty.
func AppendStatusLine[R string | []byte](b []byte, status int, reason R) (out []byte, ok bool) {
	if status < 100 || status > 999 || !IsValue(reason) {
		return b, false
	}
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	b = append(b, reason...)
	return append(b, "\r\n"...), true
}

// AppendField writes a header line, or a trailer line behind AppendLastChunk.
func AppendField[N, V string | []byte](b []byte, name N, value V) (out []byte, ok bool) {
	if !IsToken(name) || !IsValue(value) {
		return b, false
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...), true
}

// AppendContentLength writes the field that announces a body's length, which
// must not be negative.
func AppendContentLength(b []byte, n int64) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, "\r\n"...)
}

// AppendChunked writes the field that announces a chunked body.
func AppendChunked(b []byte) []byte { return append(b, "Transfer-Encoding: chunked\r\n"...) }

// EndHead ends a head, or a trailer section.
func EndHead(b []byte) []byte { return append(b, "\r\n"...) }

// AppendChunk writes a chunk. An empty one is not written, since it would end
// the body.
func AppendChunk(b, content []byte) []byte {
	if len(content) == 0 {
		return b
	}
	b = AppendChunkSize(b, len(content))
	b = append(b, content...)
	return append(b, "\r\n"...)
}

// AppendChunkSize writes what comes before a chunk's n bytes of content; CR LF
// comes behind them. So a chunk can be sent without being copied. n must be
// positive.
func AppendChunkSize(b []byte, n int) []byte {
	b = strconv.AppendInt(b, int64(n), 16)
	return append(b, "\r\n"...)
}

// AppendLastChunk writes the chunk that ends a body. Trailer fields and EndHead
// come behind it.
func AppendLastChunk(b []byte) []byte { return append(b, "0\r\n"...) }
