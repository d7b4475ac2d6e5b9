package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"whittle/bench/server"
	"whittle/internal/table"
)

// subject is one server under measurement.
type subject struct {
	name    string
	path    string // of the count endpoint
	command []string
	*server.Server
}

var number = regexp.MustCompile(`\d+`) // the only one in a response

// cost sends n requests one after another and gives the CPU-milliseconds that
// the server spent per request.
func (s *subject) cost(ctx context.Context, n int) (float64, error) {
	spent, err := s.Spent(func() error {
		for range n {
			if err := s.count(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return table.Millis(spent) / float64(n), err
}

// count asks for one sum, and takes it only if so many draws can have given it.
func (s *subject) count(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Addr+s.path, strings.NewReader(fmt.Sprintf(`{"times":%d}`, draws)))
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.name, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("read response of %s: %w", s.name, err)
	}
	sum, err := strconv.ParseInt(number.FindString(string(text)), 10, 64)
	if err != nil || sum < 49*draws || sum > 51*draws {
		return fmt.Errorf("ask %s: %s %q is not the sum of %d draws", s.name, res.Status, text, draws)
	}
	return nil
}
