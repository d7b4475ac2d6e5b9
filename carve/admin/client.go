package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

const (
	// callTime bounds a client's call; an order may wait for a slow disk.
	callTime = orderTime + 5*time.Second
	// dialTime bounds the wait for a connection.
	dialTime = 3 * time.Second
	// maxResponse bounds what a client reads.
	maxResponse = 64 << 20
)

// Client asks a running gateway. It is safe for concurrent use.
type Client struct {
	base  url.URL
	token string
	http  http.Client
}

// Dial makes a client for "host:port" or a URL. Nothing is sent yet. token may
// be empty.
func Dial(addr, token string) (*Client, error) {
	full := addr
	if !strings.Contains(addr, "://") {
		if strings.HasPrefix(addr, ":") {
			addr = "127.0.0.1" + addr
		}
		full = "http://" + addr
	}
	u, err := url.Parse(full)
	if err == nil && !reachable(u, addr) {
		return nil, whittle.Errorf(whittle.Invalid, "%q has no port from 1 to 65535", addr).
			WithHint("write it as host:port, such as 127.0.0.1:8081, the address under admin: in the gateway's config")
	}
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, whittle.Errorf(whittle.Invalid, "%q is not an address of a gateway's admin API", addr).
			WithHint("write it as host:port or as an http or https URL")
	}
	if strings.ContainsFunc(token, notVisible) || len(token) > maxToken {
		return nil, whittle.Errorf(whittle.Invalid, "the token must be at most %d visible ASCII characters", maxToken)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	c := &Client{base: *u, token: token}
	c.http.Timeout = callTime
	c.http.Transport = &http.Transport{
		Proxy:               nil, // the token goes to the gateway and to nobody else
		DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout: dialTime,
		MaxIdleConns:        2,
		IdleConnTimeout:     time.Minute,
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// reachable reports whether there can be a port at what was written as addr. A URL's scheme
// implies one.
func reachable(u *url.URL, addr string) bool {
	if u.Port() == "" {
		return strings.Contains(addr, "://")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks for every route.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	return s, c.call(ctx, http.MethodGet, "/api/v1/status", nil, &s)
}

// Route asks for one route, with its findings. An unknown one is a
// *whittle.Error with NotFound.
func (c *Client) Route(ctx context.Context, name string) (whittle.RouteStatus, error) {
	var s whittle.RouteStatus
	return s, c.call(ctx, http.MethodGet, routePath(name, ""), nil, &s)
}

// Order carries out an order and gives the route as it is then. An order that
// the state or the verdict forbids is a *whittle.Error with FailedPrecondition
// and the reason.
func (c *Client) Order(ctx context.Context, name string, o rollout.Order) (whittle.RouteStatus, error) {
	var s whittle.RouteStatus
	body := Order{Reason: o.Reason, By: o.By, Force: o.Force, To: o.To, Gate: o.Gate, Generation: o.Generation}
	return s, c.call(ctx, http.MethodPost, routePath(name, "/"+url.PathEscape(string(o.Kind))), body, &s)
}

// Fleet asks for the fleet that the gateway is of. NotFound: it is alone.
func (c *Client) Fleet(ctx context.Context) (whittle.FleetStatus, error) {
	var s whittle.FleetStatus
	return s, c.call(ctx, http.MethodGet, "/api/v1/fleet", nil, &s)
}

// Config asks for the config as it is treated.
func (c *Client) Config(ctx context.Context) (json.RawMessage, error) {
	var raw json.RawMessage
	return raw, c.call(ctx, http.MethodGet, "/api/v1/config", nil, &raw)
}

// Ready asks whether the gateway takes requests; an error says why not. It needs no token.
func (c *Client) Ready(ctx context.Context) error {
	var said struct{ Ready bool }
	if err := c.call(ctx, http.MethodGet, "/readyz", nil, &said); err != nil {
		return err
	}
	if !said.Ready {
		return c.foreign("it did not say that it is ready")
	}
	return nil
}

// routePath names a route in the query: a proxy in between may decode a path.
func routePath(name, below string) string {
	return "/api/v1/routes" + below + "?" + url.Values{"route": {name}}.Encode()
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return whittle.Errorf(whittle.Internal, "encode order: %w", err)
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, payload)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "ask gateway: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if len(b) > maxResponse {
		return c.foreign("its response is too large")
	}
	if resp.StatusCode != http.StatusOK {
		return c.problem(resp.StatusCode, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		return c.foreign("its response is not the admin API's JSON")
	}
	return nil
}

// unreachable distinguishes a gateway that is not there from one that is too slow.
func (c *Client) unreachable(ctx context.Context, err error) error {
	var slow interface{ Timeout() bool }
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return whittle.Errorf(whittle.Canceled, "ask gateway: %w", err)
	case errors.As(err, &slow) && slow.Timeout():
		return whittle.Errorf(whittle.DeadlineExceeded, "the gateway at %s does not respond in time", c.base.Host)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // which method and path were asked for is nothing to the user
	}
	return whittle.Errorf(whittle.Unavailable, "no gateway responds at %s: %w", c.base.Host, err).
		WithHint("is `whittle run` up, and is this its admin address?")
}

func (c *Client) foreign(why string) error {
	return whittle.Errorf(whittle.Unavailable, "what responds at %s is not a whittle gateway's admin API: %s", c.base.Host, why).
		WithHint("give the address under admin: in the gateway's config")
}

// problem makes the gateway's error again out of its response.
func (c *Client) problem(status int, b []byte) error {
	var p Problem
	if err := json.Unmarshal(b, &p); err != nil || p.Code == "" {
		return c.foreign(fmt.Sprintf("it responded with %d %s", status, http.StatusText(status)))
	}
	for code := whittle.Internal; code <= whittle.FallsShort; code++ {
		if code.String() == p.Code {
			return whittle.Errorf(code, "%s", p.Message).WithHint(p.Hint)
		}
	}
	return whittle.Errorf(whittle.Internal, "%s (%s)", p.Message, p.Code).WithHint(p.Hint)
}
