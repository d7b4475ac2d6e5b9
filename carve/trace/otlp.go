package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exportTime bounds one batch, with its retries.
const exportTime = 10 * time.Second

// collector sends spans to a collector over OTLP/HTTP. It implements otlptrace.Client:
// the exporter's own client of HTTP links all of gRPC.
type collector struct {
	url    string
	client http.Client
}

func (*collector) Start(context.Context) error { return nil }

func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends a batch. It tries again for as long as the collector asks for that
// by its status (OTLP 1.9, "Retryable Response Codes").
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// The same bytes as an ExportTraceServiceRequest, whose package imports gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	for wait := 200 * time.Millisecond; ; wait *= 2 {
		again, err := c.post(ctx, body)
		if !again {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

func (c *collector) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := c.client.Do(req)
	if err != nil {
		return ctx.Err() == nil, fmt.Errorf("send spans: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the connection serves again
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("send spans: the collector responded with %s", resp.Status)
	}
	return again, err
}
