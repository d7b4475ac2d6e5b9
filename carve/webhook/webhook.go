// Package webhook sends signed JSON to a URL, within bounds on time and on what comes
// back. The URL may be a secret: no error has it.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whittle"
	"whittle/internal/notify"
)

// The fields of a webhook's request.
const (
	SignatureField = "X-Whittle-Signature"
	DeliveryField  = "X-Whittle-Delivery"
)

const (
	// maxReply bounds what is read of a response, in bytes, and maxText what is kept of it.
	maxReply = 4 << 10
	maxText  = 200
	// maxHeader bounds a response's header, in bytes.
	maxHeader = 64 << 10
)

// Reply is what came back.
type Reply struct {
	Status int
	// Text is the first line of the body, in short.
	Text string
	// After is how long the receiver wants to be left alone (Retry-After, in seconds). 0:
	// it does not say.
	After time.Duration
}

// Client sends webhooks. It is safe for concurrent use.
type Client struct{ http http.Client }

// New makes a client. Close lets its connections go.
func New() *Client { return &Client{NewHTTP(16)} }

// NewHTTP makes a client with at most so many connections to a host. It follows no redirect,
// which would carry what was signed, or a token, to somebody else.
func NewHTTP(conns int) http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeader
	t.MaxConnsPerHost = conns
	t.IdleConnTimeout = 30 * time.Second
	return http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close lets idle connections go.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Delivery makes the name of a delivery: all attempts at one have the same, so that a
// receiver can tell that it got it before.
func Delivery() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// Post sends a body once. Whatever status comes back is no error.
func (c *Client) Post(ctx context.Context, h *whittle.Hook, delivery string, body []byte) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return Reply{}, errors.New("the URL cannot be used")
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"*/*"}, "User-Agent": {"whittle"}, DeliveryField: {delivery},
	}
	if h.Key != "" {
		req.Header[SignatureField] = []string{Sign(h.Key, time.Now(), body)}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return Reply{}, withoutURL(ctx, err, "no response", h.Timeout)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return Reply{}, fmt.Errorf("a response %d that broke off: %w", resp.StatusCode, withoutURL(ctx, err, "no end of it", h.Timeout))
	}
	r := Reply{Status: resp.StatusCode, Text: firstLine(b)}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		r.After = time.Duration(min(s, 3600)) * time.Second
	}
	return r, nil
}

// withoutURL is an error's cause. missing is what did not come where it is that the time is
// over.
func withoutURL(ctx context.Context, err error, missing string, within time.Duration) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s within %v", missing, within)
	}
	return Cause(err)
}

// Cause is an error of net/http without the URL that it puts in front, which may be a secret.
func Cause(err error) error {
	for u, ok := errors.AsType[*url.Error](err); ok; u, ok = errors.AsType[*url.Error](err) {
		err = u.Err
	}
	return err
}

// firstLine is the beginning of a text, as one line that can be shown.
func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(b), "�")), "\n")
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, line))
	for len(line) > maxText {
		_, n := utf8.DecodeLastRuneInString(line[:maxText+1])
		line = line[:maxText+1-n]
	}
	return line
}

// Sign is the signature of a body that is sent at a time: "t=SECONDS,v1=HEX", where HEX is
// HMAC-SHA256 under the key over the seconds, a dot and the body. That is Stripe's
// scheme; the time in it is what a receiver refuses old copies by.
func Sign(key string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(stamp + "."))
	h.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(h.Sum(nil))
}

// Pause waits after so many attempts that failed, as Backoff says or, if that is longer, as
// the last reply does, up to most. False: ctx has ended.
func Pause(ctx context.Context, failed int, most time.Duration, last Reply) bool {
	return notify.Sleep(ctx, max(Backoff(failed, most, mathrand.Float64()), min(last.After, most)))
}

// Backoff is how long to wait after so many attempts that failed: twice as long after each,
// from a second up to most, and not all receivers at once. chance is from 0 to 1.
func Backoff(failed int, most time.Duration, chance float64) time.Duration {
	d := min(most, time.Second<<min(max(0, failed-1), 20))
	return d - time.Duration(chance*float64(d)/4)
}
