package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

const path = "/api/small"

// figures are one measurement of a closed load.
type figures struct {
	requests int
	p50, p99 time.Duration
	rate     float64 // per second
}

var wrkLines = map[string]*regexp.Regexp{
	"requests": regexp.MustCompile(`(\d+) requests in`),
	"p50":      regexp.MustCompile(`\s50%\s+([\d.]+[a-z]+)`),
	"p99":      regexp.MustCompile(`\s99%\s+([\d.]+[a-z]+)`),
	"rate":     regexp.MustCompile(`Requests/sec:\s+([\d.]+)`),
	"errors":   regexp.MustCompile(`(Socket errors|Non-2xx)(.*)`),
}

// runWrk sends as fast as responses come back, over so many connections.
func runWrk(ctx context.Context, wrk, url string, conns int, d time.Duration, args ...string) (f figures, err error) {
	args = append([]string{"-t1", "-c", strconv.Itoa(conns), "-d", strconv.Itoa(int(d.Seconds())) + "s", "--latency"}, append(args, url)...)
	out, err := exec.CommandContext(ctx, wrk, args...).CombinedOutput()
	if err != nil {
		return f, fmt.Errorf("run wrk: %w: %s", err, out)
	}
	if wrong := wrkLines["errors"].Find(out); wrong != nil {
		return f, fmt.Errorf("run wrk: %s", wrong)
	}
	text := func(name string) string {
		if m := wrkLines[name].FindSubmatch(out); m != nil {
			return string(m[1])
		}
		return ""
	}
	var errs [4]error
	f.requests, errs[0] = strconv.Atoi(text("requests"))
	f.rate, errs[1] = strconv.ParseFloat(text("rate"), 64)
	f.p50, errs[2] = time.ParseDuration(text("p50"))
	f.p99, errs[3] = time.ParseDuration(text("p99"))
	if err := errors.Join(errs[:]...); err != nil {
		return f, fmt.Errorf("read wrk's figures: %w\n%s", err, out)
	}
	if f.requests == 0 {
		return f, fmt.Errorf("run wrk: no request got its response: %s", out)
	}
	return f, nil
}

var h2loadLines = map[string]*regexp.Regexp{
	"requests": regexp.MustCompile(`, (\d+) succeeded, 0 failed, 0 errored, 0 timeout`),
	"rate":     regexp.MustCompile(`finished in [^,]+, ([\d.]+) req/s`),
}

// streamLoad sends over HTTP/2, by h2load: as many streams as closedLoad has
// connections, over a quarter as many connections. h2load tells no quantiles.
func streamLoad(ctx context.Context, h2load, addr string, streams int, d time.Duration) (figures, error) {
	out, err := exec.CommandContext(ctx, h2load, "-t1", "-c", strconv.Itoa(max(streams/4, 1)), "-m", "4",
		"-D", strconv.Itoa(int(d.Seconds())), "https://"+addr+path).CombinedOutput()
	if err != nil {
		return figures{}, fmt.Errorf("run h2load: %w: %s", err, out)
	}
	requests, rate := h2loadLines["requests"].FindSubmatch(out), h2loadLines["rate"].FindSubmatch(out)
	if requests == nil || rate == nil {
		return figures{}, fmt.Errorf("read h2load's figures: %s", out)
	}
	var f figures
	var errs [2]error
	f.requests, errs[0] = strconv.Atoi(string(requests[1]))
	f.rate, errs[1] = strconv.ParseFloat(string(rate[1]), 64)
	return f, errors.Join(errs[:]...)
}

// session is one keep-alive connection.
type session struct {
	c net.Conn
	r *bufio.Reader
}

func dial(ctx context.Context, addr string) (*session, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to proxy: %w", err)
	}
	return &session{c, bufio.NewReader(c)}, nil
}

var (
	request    = []byte("GET " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: application/json\r\n\r\n")
	lengthLine = regexp.MustCompile(`(?i)^content-length: *(\d+)`)
)

// ask sends one request and reads its answer to the end.
func (s *session) ask() error {
	_ = s.c.SetDeadline(time.Now().Add(10 * time.Second)) // the read fails otherwise
	if _, err := s.c.Write(request); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	length := -1
	for first := true; ; first = false {
		line, err := s.r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read response: %w", err)
		}
		if first && string(line[9:12]) != "200" {
			return fmt.Errorf("read response: %q", line)
		}
		if len(line) == 2 {
			break
		}
		if m := lengthLine.FindSubmatch(line); m != nil {
			length, _ = strconv.Atoi(string(m[1])) // digits, by the expression
		}
	}
	if length != len(responseBody) {
		return fmt.Errorf("read response: a body of %d bytes in place of %d", length, len(responseBody))
	}
	_, err := s.r.Discard(length)
	return err
}
