package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"whittle/internal/child"
)

// Smell is one that whittle names.
type Smell struct {
	Name  string  `json:"name"`
	File  string  `json:"file"`
	Line  int     `json:"line"`
	Share float64 `json:"share"`
}

// Listed are the words of a flag, with commas between; none: nil.
func Listed(flag string) []string {
	if flag == "" {
		return nil
	}
	return strings.Split(flag, ",")
}

// Build runs a command in a service's folder.
func Build(ctx context.Context, folder string, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// Start runs a service in its folder. It has 20 seconds to say where it listens.
func Start(ctx context.Context, o child.Options, argv ...string) (*child.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return child.Start(ctx, o, argv...)
}

// Target is how whittle is pointed at a service: at its pprof, or at its process.
func Target(p *child.Process) string {
	if p.Admin != "" {
		return "http://" + p.Admin
	}
	return strconv.Itoa(p.Pid())
}

// Client speaks HTTP/1.1, or HTTP/2 without TLS.
func Client(h2c bool, conns int, timeout time.Duration) *http.Client {
	t := &http.Transport{MaxIdleConnsPerHost: conns, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!h2c)
	t.Protocols.SetUnencryptedHTTP2(h2c)
	return &http.Client{Transport: t, Timeout: timeout}
}

// Send sends a request and reads the response to its end. It fails where the response is
// no success, by its status or gRPC's.
func Send(client *http.Client, r *http.Request) error {
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch status := resp.Trailer.Get("Grpc-Status"); {
	case err != nil:
		return err
	case resp.StatusCode >= 300 || status != "" && status != "0":
		return fmt.Errorf("%s %s: %s %s: %.200s", r.Method, r.URL.Path, resp.Status, resp.Trailer.Get("Grpc-Message"), text)
	}
	return nil
}

// Whittle is the program under test.
type Whittle struct {
	Binary string
	Length time.Duration // of each profile
}

// Ask runs a verb on a target, and reads the JSON that it writes to a file. Exit status 1
// is a finding.
func (w *Whittle) Ask(ctx context.Context, verb, target, file string, into any) error {
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, w.Binary, verb, target, "--duration", w.Length.String(), "--json", file).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		return fmt.Errorf("whittle %s: %w\n%s", verb, err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("whittle %s: %w\n%s", verb, err, out)
	}
	return json.Unmarshal(b, into)
}
