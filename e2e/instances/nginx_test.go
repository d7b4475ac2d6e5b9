package instances

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/certtest"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// ports are so many that are free now.
func ports(t *testing.T, n int) (all []any) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		fatal.If(t, err)
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}

// TestNginxAsUpstream speaks to a real server in each way that the config has: by a
// socket, with the PROXY protocol, by TLS with a certificate for a name that is asked
// for and one that is shown, and by HTTP/2.
func TestNginxAsUpstream(t *testing.T) {
	nginx := needs.Tool(t, "nginx as an upstream", "apt-get install nginx", "nginx")
	dir, err := os.MkdirTemp("", "whittle") // t.TempDir's names are too long for a socket
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ca := certtest.New(t)
	app, gateway := ca.For(t, "app.internal"), ca.For(t, "gateway")
	ca.Write(t, dir, "ca.pem", "ca.key")
	app.Write(t, dir, "app.internal.pem", "app.internal.key")
	gateway.Write(t, dir, "gateway.pem", "gateway.key")
	at := ports(t, 2)
	tls := fmt.Sprintf("ssl_certificate %s/app.internal.pem; ssl_certificate_key %[1]s/app.internal.key; ssl_client_certificate %[1]s/ca.pem; ssl_protocols TLSv1.3;", dir)
	const said = `return 200 "$request_method $server_protocol host=$host sni=$ssl_server_name $ssl_protocol client=$ssl_client_s_dn\n";`
	conf := fmt.Sprintf(`
daemon off; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server { listen unix:%[1]s/app.sock; location / { %[2]s } }
  server { listen %[4]s ssl; %[3]s ssl_verify_client on; location / { %[2]s } }
  server { listen %[5]s ssl http2; %[3]s location / { %[2]s } }
}`, dir, said, tls, at[0], at[1])
	file := filepath.Join(dir, "nginx.conf")
	fatal.If(t, os.WriteFile(file, []byte(conf), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, nginx, "-p", dir, "-c", file)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var heard strings.Builder
	cmd.Stdout, cmd.Stderr = &heard, &heard
	fatal.If(t, cmd.Start())
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was told to end
		if t.Failed() {
			t.Log(heard.String())
		}
	})
	process.Until(t, "nginx listens", func() bool {
		c, err := net.Dial("unix", filepath.Join(dir, "app.sock"))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	secure := fmt.Sprintf("tls: {ca: %[1]s/ca.pem, cert: %[1]s/gateway.pem, key: %[1]s/gateway.key, server_name: app.internal}", dir)
	for _, tt := range []struct{ name, upstream, want string }{
		{"a socket", fmt.Sprintf(`url: "unix://%s/app.sock"`, dir), "HTTP/1.1 host=user.example sni= client="},
		{"both certificates", fmt.Sprintf("url: https://%s, %s, host: app.internal", at[0], secure), "HTTP/1.1 host=app.internal sni=app.internal TLSv1.3 client=CN=gateway"},
		{"HTTP/2", fmt.Sprintf("url: https://%s, %s", at[1], secure), "HTTP/2.0 host=user.example sni=app.internal TLSv1.3 client="},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := run(t, "monolith: {"+tt.upstream+"}\n")
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			for n, length := range []int{0, 0, 100, 20_000, 0} {
				method := []string{http.MethodGet, http.MethodPost}[min(length, 1)]
				q, err := http.NewRequestWithContext(t.Context(), method, "http://"+g.Public+"/", strings.NewReader(strings.Repeat("x", length)))
				fatal.If(t, err)
				q.Host = "user.example"
				resp, err := tr.RoundTrip(q)
				fatal.If(t, err)
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				want := method + " " + tt.want
				if got := strings.Join(strings.Fields(string(text)), " "); err != nil || got != want {
					t.Errorf("request %d: %d %q, not %q", n, resp.StatusCode, got, want)
				}
			}
		})
	}
}
