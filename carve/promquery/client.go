package promquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/webhook"
)

const (
	// maxResponse bounds what is read of a response, in bytes, and maxText what is shown
	// of a server's own words.
	maxResponse = 1 << 20
	maxText     = 200
)

// client asks a Prometheus server, or one that speaks its HTTP API.
type client struct {
	http   http.Client
	server whittle.Prometheus
}

func newClient(server whittle.Prometheus) *client {
	return &client{server: server, http: webhook.NewHTTP(atOnce)}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// sample is one figure of a result.
type sample struct {
	labels map[string]string
	at     time.Time
	value  float64
}

// result is the API's response to an instant query.
type result struct {
	Status   string   `json:"status"`
	Type     string   `json:"errorType"`
	Error    string   `json:"error"`
	Warnings []string `json:"warnings"`
	Data     struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// query asks for the figures at a moment of the server's clock; zero: now. Errors are
// clauses that can be shown.
func (c *client) query(ctx context.Context, text string, at time.Time) ([]sample, error) {
	form := url.Values{"query": {text}}
	if !at.IsZero() {
		form.Set("time", strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.URL+"/api/v1/query", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the server's URL cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "whittle")
	if c.server.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.server.Token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if len(b) > maxResponse {
		return nil, errors.New("the server's response is longer than 1 MiB: sum the series up in the query")
	}
	return parse(resp.StatusCode, b)
}

func (c *client) unreachable(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no response within %v", c.server.Timeout)
	}
	return fmt.Errorf("the server cannot be asked: %w", webhook.Cause(err))
}

// parse reads a response.
func parse(status int, b []byte) ([]sample, error) {
	var r result
	err := json.Unmarshal(b, &r)
	switch {
	case err == nil && r.Status == "error":
		return nil, fmt.Errorf("the server refuses it: %s: %s", words(r.Type), words(r.Error))
	case status != http.StatusOK:
		return nil, fmt.Errorf("the server responds %d", status)
	case err != nil || r.Status != "success":
		return nil, errors.New("the response is not that of a Prometheus server")
	case len(r.Warnings) > 0: // some of the data may be missing
		return nil, fmt.Errorf("the server warns: %s", words(r.Warnings[0]))
	}
	switch r.Data.Type {
	case "scalar":
		var p point
		if err := json.Unmarshal(r.Data.Result, &p); err != nil {
			return nil, errors.New("the response is not that of a Prometheus server")
		}
		return []sample{{at: p.at, value: p.value}}, nil
	case "vector":
		var list []struct {
			Metric map[string]string `json:"metric"`
			Value  *point            `json:"value"`
		}
		if err := json.Unmarshal(r.Data.Result, &list); err != nil {
			return nil, errors.New("the response is not that of a Prometheus server")
		}
		out := make([]sample, len(list))
		for i, l := range list {
			if l.Value == nil {
				return nil, errors.New("the result is a histogram, not a number")
			}
			out[i] = sample{labels: l.Metric, at: l.Value.at, value: l.Value.value}
		}
		return out, nil
	}
	return nil, fmt.Errorf("the result is a %s, not a number: write an instant query", words(r.Data.Type))
}

// point is "[seconds, text]".
type point struct {
	at    time.Time
	value float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *point) UnmarshalJSON(b []byte) error {
	var pair []any
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return errors.New("no pair")
	}
	seconds, timed := pair[0].(float64)
	text, ok := pair[1].(string)
	if !ok || !timed || !(seconds >= 0 && seconds < 1e11) {
		return errors.New("no time and value")
	}
	v, err := strconv.ParseFloat(text, 64) // NaN and +Inf among them, which the guardrail sorts out
	if err != nil {
		return err
	}
	p.at, p.value = time.UnixMilli(int64(seconds*1000)), v
	return nil
}

// words are somebody else's, fit to be shown.
func words(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText]) + "…"
	}
	return s
}
