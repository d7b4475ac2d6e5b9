package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"whittle/internal/notify"
)

// health is what an instance's checks have come to. The zero value is healthy.
type health struct {
	known bool
	// row counts the checks in a row that contradict what holds.
	row int
}

// maxCheckBody is how much is read of a check's response.
const maxCheckBody = 64 << 10

// check checks the instance again and again until ctx ends. The first check comes
// at once, give or take a tenth of the interval, and settles what holds by itself.
func (i *instance) check(ctx context.Context) {
	h := &i.u.spec.Health
	wait := time.Duration(rand.Float64() * float64(h.Interval) / 10)
	for notify.Sleep(ctx, wait) {
		err := i.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		i.checked(err)
		wait = time.Duration((0.9 + 0.2*rand.Float64()) * float64(h.Interval))
	}
}

// probe makes one check. It takes no slot: an instance that is busy is not ill.
func (i *instance) probe(ctx context.Context) error {
	h := &i.u.spec.Health
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	if h.GRPC {
		return i.probeGRPC(ctx, h.Service)
	}
	if h.Path == "" {
		c, err := i.connect(ctx, bothHTTP)
		if err == nil {
			_ = c.Close() // that it could be opened is enough
		}
		return err
	}
	resp, err := i.ask(i.question(http.MethodGet, h.Path).WithContext(ctx))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < h.Least || resp.StatusCode > h.Most {
		return fmt.Errorf("%s answered %d", h.Path, resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxCheckBody))
	return err
}

// question is a check's request.
func (i *instance) question(method, path string) *http.Request {
	return &http.Request{
		Method: method, URL: i.u.url(i.u.target(path)), Host: i.u.hostFor(""), Header: http.Header{"User-Agent": {"whittle-health-check"}},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

func (i *instance) ask(q *http.Request) (*http.Response, error) {
	return i.ways[wayNew].RoundTrip(q)
}

// checked takes in the result of a check.
func (i *instance) checked(err error) {
	u := i.u
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.checksFailed.Add(1)
	}
	if i.closed || u.closed {
		return
	}
	first := !i.health.known
	i.health.known = true
	if (err != nil) == i.unhealthy {
		i.health.row = 0
		return
	}
	i.health.row++
	need := u.spec.Health.Unhealthy
	if i.unhealthy {
		need = u.spec.Health.Healthy
	}
	if i.health.row < need && !first {
		return
	}
	i.health.row = 0
	i.unhealthy = err != nil
	if i.unhealthy {
		u.log.Warn("an instance is unhealthy", "upstream", u.name(), "instance", i.address, "err", err)
	} else {
		u.log.Info("an instance is healthy again", "upstream", u.name(), "instance", i.address)
	}
	u.regroup()
}

// The fields of grpc.health.v1's messages, and the status that is wanted.
const (
	healthService = 1 // of HealthCheckRequest
	healthStatus  = 1 // of HealthCheckResponse
	serving       = 1
)

var errNotHTTP2 = errors.New("the server speaks HTTP/1.1, and gRPC wants HTTP/2")

// healthNames are the statuses that are not SERVING.
var healthNames = map[uint64]string{0: "UNKNOWN", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}

// probeGRPC makes one check by grpc.health.v1.
func (i *instance) probeGRPC(ctx context.Context, service string) error {
	q := i.question(http.MethodPost, "/grpc.health.v1.Health/Check")
	q.Header["Content-Type"], q.Header["Te"] = []string{"application/grpc"}, []string{"trailers"}
	body := healthRequest(service)
	q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp, err := i.ask(q.WithContext(ctx))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxCheckBody))
	switch {
	case err != nil:
		return err
	case resp.ProtoMajor != 2:
		return errNotHTTP2
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("grpc.health.v1 answered HTTP %d", resp.StatusCode)
	}
	value := func(name string) string { return cmp.Or(resp.Trailer.Get(name), resp.Header.Get(name)) } // in the head where there is no message
	if code := value("Grpc-Status"); code != "0" {
		return fmt.Errorf("grpc.health.v1 answered status %q %.200q", code, value("Grpc-Message"))
	}
	return healthResponse(got)
}

// healthRequest is a HealthCheckRequest with the prefix of a gRPC message.
func healthRequest(service string) []byte {
	var m []byte
	if service != "" {
		m = protowire.AppendString(protowire.AppendTag(nil, healthService, protowire.BytesType), service)
	}
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))) //nolint:gosec // a name's length
	return append(b, m...)
}

// healthResponse is no error where a HealthCheckResponse with its prefix says SERVING.
func healthResponse(b []byte) error {
	const prefix = 5
	if len(b) < prefix || b[0] != 0 || int64(len(b)-prefix) != int64(binary.BigEndian.Uint32(b[1:])) {
		return fmt.Errorf("grpc.health.v1 answered with no message that is whole and not compressed: %d bytes", len(b))
	}
	status := uint64(0)
	for m := b[prefix:]; len(m) > 0; {
		field, kind, n := protowire.ConsumeTag(m)
		if n < 0 {
			return protowire.ParseError(n)
		}
		m = m[n:]
		if field == healthStatus && kind == protowire.VarintType {
			status, n = protowire.ConsumeVarint(m)
		} else {
			n = protowire.ConsumeFieldValue(field, kind, m)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		m = m[n:]
	}
	if status != serving {
		return fmt.Errorf("grpc.health.v1 answered %s", cmp.Or(healthNames[status], fmt.Sprint(status)))
	}
	return nil
}
