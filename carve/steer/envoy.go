package steer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"whittle"
	"whittle/carve/webhook"
)

// envoy is two weights in the runtime of one Envoy, by its admin interface: both are set by one
// request, and sum up to 10,000.
type envoy struct {
	admin               string
	candidate, monolith string
	client              *http.Client
}

func (e *envoy) Set(ctx context.Context, share whittle.Share) error {
	weights := url.Values{}
	weights.Set(e.candidate, strconv.Itoa(int(share)))
	weights.Set(e.monolith, strconv.Itoa(int(whittle.All-share)))
	_, err := ask(ctx, e.client, http.MethodPost, e.admin+"/runtime_modify?"+weights.Encode(), nil)
	return err
}

func (e *envoy) Read(ctx context.Context) (whittle.Share, error) {
	b, err := ask(ctx, e.client, http.MethodGet, e.admin+"/runtime?format=json", nil)
	if err != nil {
		return 0, err
	}
	var runtime struct {
		Entries map[string]struct {
			Final string `json:"final_value"`
		}
	}
	if err := json.Unmarshal(b, &runtime); err != nil {
		return 0, fmt.Errorf("GET /runtime: %w", err)
	}
	var weights [2]float64
	for i, key := range []string{e.candidate, e.monolith} {
		entry, is := runtime.Entries[key]
		if weights[i], err = strconv.ParseFloat(entry.Final, 64); !is || err != nil {
			return 0, fmt.Errorf("its runtime has no number for %s: %q", key, entry.Final)
		}
	}
	return part(weights[0], weights[0]+weights[1])
}

// part is a weight's share of a sum.
func part(weight, sum float64) (whittle.Share, error) {
	if !(sum > 0 && weight >= 0 && weight <= sum) {
		return 0, fmt.Errorf("its weights are %g of %g", weight, sum)
	}
	return whittle.Share(math.Round(weight / sum * float64(whittle.All))), nil
}

// newClient makes a client that keeps no connection: a route is asked every few seconds.
func newClient() *http.Client {
	c := webhook.NewHTTP(2)
	c.Transport.(*http.Transport).DisableKeepAlives = true
	return &c
}

// ask sends a request and takes a response of 200, within bounds.
func ask(ctx context.Context, c *http.Client, method, url string, body io.Reader, fields ...string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, errors.New("the URL cannot be used")
	}
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, cause(ctx, webhook.Cause(err))
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, req.URL.Path, resp.StatusCode, b)
	}
	return b, cause(ctx, err)
}
