package child

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// role marks the test's own binary as a child, and says what it does.
const role = "WHITTLE_CHILD"

func TestMain(m *testing.M) {
	as, is := os.LookupEnv(role)
	if !is {
		goleak.VerifyTestMain(m)
		return
	}
	os.Exit(play(as))
}

// play is a child; it gives its exit status.
func play(as string) int {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	switch as {
	case "parent":
		c, err := Start(context.Background(), Options{Env: []string{role + "=server"}}, os.Args[0])
		if err != nil {
			return 4
		}
		_, _ = io.WriteString(os.Stdout, "listening public="+c.Public+"\n")
		select {} // until it is killed
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 4
	}
	_, _ = io.WriteString(os.Stdout, "some line before\nlistening public="+l.Addr().String()+" admin=127.0.0.1:1\n")
	go func() { _ = http.Serve(l, http.NotFoundHandler()) }()
	_, _ = io.WriteString(os.Stderr, "serving\n")
	<-end
	_, _ = io.WriteString(os.Stderr, "draining\n")
	return 5
}

func options(as string) Options { return Options{Env: []string{role + "=" + as}} }

func reached(ctx context.Context, addr string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return c.Close()
}
