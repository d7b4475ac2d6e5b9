package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"whittle/bench/server"
	"whittle/internal/table"
)

// target is the nginx that every tool sends to.
type target struct {
	*server.Server
	// h2 is where it speaks HTTP/2 without TLS, and nothing else.
	h2 string
}

const nginxConfig = `daemon off;
worker_processes 1;
pid {{folder}}/nginx.pid;
error_log {{folder}}/nginx.err;
worker_rlimit_nofile 16384;
events { worker_connections 12000; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path {{folder}}/nginx-a; proxy_temp_path {{folder}}/nginx-b; fastcgi_temp_path {{folder}}/nginx-c;
  uwsgi_temp_path {{folder}}/nginx-d; scgi_temp_path {{folder}}/nginx-e;
  server {
    listen {{listen}} backlog=4096;
    listen {{h2}} http2 backlog=4096;
    location / { default_type text/plain; return 200 "ok\n"; }
    location = /status { stub_status; }
  }
}
`

func startTarget(ctx context.Context, s settings) (*target, error) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		return nil, errors.New("nginx, the target of the requests, is missing: apt-get install nginx")
	}
	if err := table.Pinned(ctx, "nginx", binary, "1.22", "-v"); err != nil {
		return nil, err
	}
	addr, err := server.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	h2, err := server.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.folder, "nginx.conf")
	text := strings.NewReplacer("{{folder}}", s.folder, "{{listen}}", addr, "{{h2}}", h2).Replace(nginxConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write nginx's config: %w", err)
	}
	responds := func(ctx context.Context, addr string) error {
		_, err := served(ctx, addr)
		return err
	}
	p, err := server.StartAt(ctx, addr, s.folder+"/nginx.err", responds, nil, binary, "-e", s.folder+"/nginx.err", "-c", config)
	return &target{p, h2}, err
}

// statusLine is the third line of stub_status: accepts, handled, requests.
var statusLine = regexp.MustCompile(`(?m)^ *\d+ +\d+ +(\d+) *$`)

// served is how many requests nginx has served, this one not counted: the
// same count for every tool, whatever it says of itself.
func served(ctx context.Context, addr string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/status", http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask nginx for its count: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return 0, fmt.Errorf("ask nginx for its count: %w", err)
	}
	return servedIn(body)
}

func servedIn(status []byte) (int, error) {
	m := statusLine.FindSubmatch(status)
	if m == nil {
		return 0, fmt.Errorf("nginx's count is not in %q", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	return n - 1, err
}
