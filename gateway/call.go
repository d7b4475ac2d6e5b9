package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"whittle"
)

// call asks u on the side and holds the whole answer: within one deadline for
// all of it, and with a bound on its length (0: the upstream's own). It never
// follows redirects. What goes wrong is in the Answer.
func (u *upstream) call(ctx context.Context, q *whittle.Request, maxAnswer int64) whittle.Answer {
	if maxAnswer <= 0 {
		maxAnswer = u.maxAnswer()
	}
	ctx, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	at := time.Now()
	var (
		a   whittle.Answer
		err error
	)
	if u.pool != nil {
		a, err = u.callLean(ctx, q, maxAnswer)
	} else {
		a, err = u.callTransport(ctx, q, maxAnswer)
	}
	a.Latency = time.Since(at)
	if err != nil {
		a.Status, a.Failure, a.Detail = 0, classify(err), err.Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.Failure = whittle.FailedTimeout
		}
	}
	return a
}

func (u *upstream) maxAnswer() int64 {
	if u.spec.MaxAnswer > 0 {
		return u.spec.MaxAnswer
	}
	return defaultAnswer
}

// hostFor is the Host that goes upstream for a client's.
func (u *upstream) hostFor(client string) string {
	switch {
	case u.host != "":
		return u.host
	case client == "":
		return u.base.Host
	}
	return client
}

func (u *upstream) callLean(ctx context.Context, q *whittle.Request, limit int64) (whittle.Answer, error) {
	buf := requests.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= 64<<10 {
			*buf = (*buf)[:0]
			requests.Put(buf)
		}
	}()
	w := headWriter{b: (*buf)[:0]}
	w.line(q.Method, u.target(q.Target), u.hostFor(q.Host))
	for name, values := range q.Header {
		if hopByHop(name) || name == "Content-Length" || name == "Expect" || name == "Host" {
			continue
		}
		for _, v := range values {
			w.field(name, v)
		}
	}
	if len(q.Body) > 0 || q.Header["Content-Length"] != nil || hasBody(q.Method) {
		w.field("Content-Length", strconv.Itoa(len(q.Body)))
	}
	var err error
	if *buf, err = w.end(); err != nil {
		return whittle.Answer{}, err
	}
	*buf = append(*buf, q.Body...)
	again := replayable(&http.Request{Method: q.Method, Header: http.Header(q.Header)})
	c, err := u.pool.do(ctx, leanCall{request: *buf, method: q.Method, again: again, limit: u.timeout, total: true})
	if err != nil {
		return whittle.Answer{}, err
	}
	defer c.finish()
	return c.answer(limit)
}

// hasBody reports whether a method is expected to carry a body, so that its
// absence must be said.
func hasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func (u *upstream) callTransport(ctx context.Context, q *whittle.Request, limit int64) (whittle.Answer, error) {
	target := u.target(q.Target)
	if !isTarget(target) {
		return whittle.Answer{}, errTarget
	}
	header := make(http.Header, len(q.Header)+1)
	for name, values := range q.Header {
		if (!hopByHop(name) || name == "Te") && name != "Content-Length" && name != "Expect" && name != "Host" {
			header[name] = values
		}
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = nil // keeps net/http from putting in its own
	}
	out := &http.Request{
		Method: q.Method, URL: u.url(target), Host: u.hostFor(q.Host), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(q.Body)),
		Body: http.NoBody,
	}
	if len(q.Body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(q.Body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.Body)), nil }
	}
	resp, err := u.transport.RoundTrip(out.WithContext(ctx)) //nolint:bodyclose // reply.close does
	if err != nil {
		return whittle.Answer{}, err
	}
	a := replyOf(resp)
	defer a.close()
	w := whittle.Answer{Status: a.status, Header: a.head()}
	if a.length > limit && q.Method != http.MethodHead {
		return w, errAnswerSize
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return w, err
	}
	if int64(len(body)) > limit {
		return w, errAnswerSize
	}
	w.Body = body
	if t := a.trailer(); len(t) > 0 {
		w.Trailer = whittle.Header(t)
	}
	return w, nil
}
