package listening

import (
	"errors"
	"net"
	"os"
	"strings"
)

// Notify tells systemd of the state of its service (sd_notify): READY=1, STOPPING=1,
// MAINPID=. It does nothing where nobody listens for it.
func Notify(state ...string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(strings.Join(state, "\n")))
	return errors.Join(err, c.Close())
}
