package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"whittle/bench/server"
)

func node(ctx context.Context, s settings, room string, env ...string) (*server.Server, error) {
	folder := filepath.Join(s.root, "systems/count", room)
	if _, err := os.Stat(filepath.Join(folder, "node_modules/express")); err != nil {
		return nil, fmt.Errorf("the npm packages of %s are missing: run make deps", folder)
	}
	return server.Start(ctx, env, "node", filepath.Join(folder, "server.js"), "--port", "0", "--host", "127.0.0.1")
}

func startMonolith(ctx context.Context, s settings) ([]*server.Server, string, error) {
	p, err := node(ctx, s, "monolith")
	if err != nil {
		return nil, "", err
	}
	return []*server.Server{p}, "http://" + p.Addr, nil
}

func startService(ctx context.Context, s settings) ([]*server.Server, string, error) {
	p, err := server.Start(ctx, nil, s.service, "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "", "-log-level", "warn")
	if err != nil {
		return nil, "", err
	}
	return []*server.Server{p}, "http://" + p.Addr, nil
}

// startCarved starts the application whose count is the service's.
func startCarved(ctx context.Context, s settings) ([]*server.Server, string, error) {
	system, url, err := startService(ctx, s)
	if err != nil {
		return nil, "", err
	}
	p, err := node(ctx, s, "carved", "COUNT_URL="+url+"/")
	if err != nil {
		return system, "", err
	}
	return append(system, p), "http://" + p.Addr, nil
}
