package child

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// role marks the test's own binary as a child, and says what it does.
const role = "WHITTLE_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "parent":
		c, err := Start(context.Background(), options("server"), os.Args[0])
		if err != nil {
			panic(err)
		}
		fmt.Println("listening public=" + c.Public)
		select {} // until it is killed
	case "server":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Println("some line before\nlistening public=" + l.Addr().String())
		for err == nil { // until it is killed
			_, err = l.Accept()
		}
	}
	goleak.VerifyTestMain(m)
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
