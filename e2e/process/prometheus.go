package process

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"whittle/internal/child"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// Prometheus starts a Prometheus server with a config, until the test ends, and gives its
// URL. It cannot choose its port itself, so a free one is tried until one is still free.
func Prometheus(t testing.TB, config string) (p *Process, url string) {
	t.Helper()
	path := needs.Tool(t, "queries to a real Prometheus server", "apt-get install prometheus", "prometheus")
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	fatal.If(t, os.WriteFile(file, []byte(config), 0o600))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
	defer cancel()
	var err error
	for range 5 {
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		var c *child.Process
		c, err = child.Spawn(child.Options{Dir: dir}, path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
		fatal.If(t, err)
		if err = c.Await(ctx, func(ctx context.Context) error { return responds(ctx, "http://"+address+"/-/ready") }); err == nil {
			t.Cleanup(c.Kill)
			return &Process{c}, "http://" + address
		}
	}
	t.Fatal(err)
	return nil, ""
}

func responds(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds %s", url, resp.Status)
	}
	return nil
}
