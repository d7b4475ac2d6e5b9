// Package fetch downloads the picture at an untrusted URL. It prevents
// server-side request forgery: only public addresses can be reached.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"whittle"
	"whittle/systems/emojify/picture"
)

const (
	// maxRedirects are followed, each looked at as the first URL was.
	maxRedirects = 3
	// connectWithin bounds a connection's set-up, and that of TLS on it.
	connectWithin = 5 * time.Second
	// maxHeader bounds a response's header, in bytes.
	maxHeader = 32 << 10
)

// Options of a fetcher. The zero value is fit for service.
type Options struct {
	Limits picture.Limits
	// Timeout bounds a fetch, redirects and all. 0: 10 s.
	Timeout time.Duration
	// Allow are ranges that may be dialled although they are not public, for
	// tests and demonstrations. It is looked at as it is: an allowed 64:ff9b::/96
	// lets NAT64 lead anywhere. Empty: none.
	Allow []netip.Prefix

	resolver *net.Resolver // nil: the system's
}

// Fetcher gets pictures. It may be used by many goroutines at once, and keeps
// no connection and no cookie from one fetch to the next.
type Fetcher struct {
	o      Options
	client *http.Client
}

// New makes a fetcher.
func New(o Options) *Fetcher {
	o.Limits = o.Limits.WithDefaults()
	o.Timeout = cmp.Or(max(o.Timeout, 0), 10*time.Second)
	f := &Fetcher{o: o}
	dialer := &net.Dialer{Timeout: connectWithin, Resolver: o.resolver, ControlContext: f.control}
	f.client = &http.Client{
		CheckRedirect: f.redirect,
		Transport: &http.Transport{
			// Through a proxy, the address that is dialled would be the proxy's.
			Proxy:                  nil,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    connectWithin,
			ResponseHeaderTimeout:  o.Timeout,
			MaxResponseHeaderBytes: maxHeader,
			// A connection is used once, so that no fetch goes over one that was
			// dialled for another name; nothing is decompressed, so that a picture
			// has the size that was counted.
			DisableKeepAlives:  true,
			DisableCompression: true,
		},
	}
	return f
}

// control looks at the address that is about to be connected to, the last
// moment at which it can no longer change: whatever a name stood for when
// somebody asked before, or means in the next response, does not count.
func (f *Fetcher) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !strings.HasPrefix(network, "tcp") || !open(to.Addr(), f.o.Allow) {
		return forbidden(address)
	}
	return nil
}

func (f *Fetcher) redirect(r *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return whittle.Errorf(whittle.Invalid, "the URL leads on more than %d times", maxRedirects)
	}
	r.Header.Del("Referer")
	return f.check(r.URL)
}

// Fetch gets a JPEG, PNG or GIF within the limits, recognized by its first bytes, not
// by what is said of it. Its errors are whittle's coded ones, with a message
// that the client may read: Invalid, PermissionDenied, ResourceExhausted,
// Unavailable, DeadlineExceeded, Canceled.
func (f *Fetcher) Fetch(ctx context.Context, text string) ([]byte, error) {
	u, err := f.parse(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &whittle.Error{Code: whittle.Invalid, Message: "that is not a URL", Err: err}
	}
	req.Header.Set("Accept", "image/jpeg, image/png, image/gif")
	req.Header.Set("User-Agent", "emojify")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, failed(ctx, err)
	}
	defer resp.Body.Close()
	if err := f.acceptable(resp); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, f.o.Limits.Bytes+1))
	if err != nil {
		return nil, failed(ctx, err)
	}
	if _, err := picture.Inspect(b, f.o.Limits); err != nil {
		return nil, err
	}
	return b, nil
}

// acceptable looks at a response before its body is read.
func (f *Fetcher) acceptable(resp *http.Response) error {
	status := resp.StatusCode
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		return whittle.Errorf(whittle.Unavailable, "the picture's server responded with %d", status)
	case status != http.StatusOK:
		return whittle.Errorf(whittle.Invalid, "the picture's server responded with %d", status)
	case resp.ContentLength > f.o.Limits.Bytes:
		return whittle.Errorf(whittle.ResourceExhausted, "the picture has more than %d bytes", f.o.Limits.Bytes)
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return whittle.Errorf(whittle.Invalid, "the picture's server compresses what it was asked to send as it is")
	}
	declared := resp.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if declared != "" && (err != nil || !strings.HasPrefix(kind, "image/") && !strings.HasSuffix(kind, "/octet-stream")) {
		return whittle.Errorf(whittle.Invalid, "the URL leads to %.60q, not to a picture", declared)
	}
	return nil
}

// failed says what became of a fetch.
func failed(ctx context.Context, err error) error {
	if coded, ok := errors.AsType[*whittle.Error](err); ok {
		return coded
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return &whittle.Error{Code: whittle.Canceled, Message: "the fetch was cancelled", Err: err}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return &whittle.Error{Code: whittle.Invalid, Message: "the URL's host does not exist", Err: err}
	}
	if timeout, ok := errors.AsType[net.Error](err); ctx.Err() != nil || ok && timeout.Timeout() {
		return &whittle.Error{Code: whittle.DeadlineExceeded, Message: "the picture's server took too long", Err: err}
	}
	return &whittle.Error{Code: whittle.Unavailable, Message: "the picture's server cannot be reached", Err: err}
}
