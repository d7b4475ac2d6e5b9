package walk

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/e2e/process"
)

// user asks one thing after another over a connection that is kept while the
// server keeps it. Nothing is ever asked twice: where a browser would quietly
// try again, this user reports an error.
type user struct {
	address, name string
	conn          net.Conn
	r             *bufio.Reader
}

func newUser(address string, n int) *user {
	return &user{address: address, name: fmt.Sprintf("user-%d", n)}
}

func (u *user) close() {
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
}

// connect opens the user's connection where none is open.
func (u *user) connect() error {
	if u.conn != nil {
		return nil
	}
	c, err := net.DialTimeout("tcp", u.address, process.Patience)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	u.conn, u.r = c, bufio.NewReader(c)
	return nil
}

// ask sends a request and reads the whole response.
func (u *user) ask(method, path, body string) (status int, response string, err error) {
	if err := u.connect(); err != nil {
		return 0, "", err
	}
	defer func() {
		if err != nil {
			u.close()
		}
	}()
	if err := u.conn.SetDeadline(time.Now().Add(process.Patience)); err != nil {
		return 0, "", err
	}
	if _, err := u.conn.Write(u.request(method, path, body)); err != nil {
		return 0, "", fmt.Errorf("send: %w", err)
	}
	resp, err := http.ReadResponse(u.r, &http.Request{Method: method})
	if err != nil {
		return 0, "", fmt.Errorf("read head: %w", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", fmt.Errorf("read body: %w", err)
	}
	if resp.Close {
		u.close()
	}
	return resp.StatusCode, string(b), nil
}

func (u *user) request(method, path, body string) []byte {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: shop.example\r\nX-User: %s\r\n", method, path, u.name)
	if body != "" || method == http.MethodPost {
		head += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return []byte(head + "\r\n" + body)
}

// count asks for so many draws; anything but a sum is an error.
func (u *user) count(times int) error {
	status, response, err := u.ask(http.MethodPost, "/Count", fmt.Sprintf(`{"times":%d}`, times))
	if err == nil && (status != http.StatusOK || !strings.HasPrefix(response, "Counted to ")) {
		err = fmt.Errorf("answered %d %.80q", status, response)
	}
	return err
}

// rest is how often a user asks at most. Few users leave the machine to other tests then; of
// many some are always under way.
const rest = 10 * time.Millisecond

// small is a count that costs a server next to nothing.
func small(u *user, _ int) error { return u.count(1000) }

// users are users who ask again and again until they are sent home.
type users struct {
	stop   chan struct{}
	wg     sync.WaitGroup
	served atomic.Int64

	mu     sync.Mutex // guards the following
	errors []string   // the first of them
	failed int
	first  time.Time // of the errors
}

// gather sets n users to work at once, who ask by next, with their own count of requests.
func gather(address string, n int, next func(u *user, i int) error) *users {
	c := &users{stop: make(chan struct{})}
	for k := range n {
		c.wg.Go(func() {
			u := newUser(address, k)
			defer u.close()
			due := time.NewTicker(rest)
			defer due.Stop()
			for i := 0; ; i++ {
				select {
				case <-c.stop:
					return
				case <-due.C:
				}
				if err := next(u, i); err != nil {
					c.fail(fmt.Sprintf("%s, request %d at %s: %v", u.name, i, time.Now().Format("05.000"), err))
					continue
				}
				c.served.Add(1)
			}
		})
	}
	return c
}

func (c *users) fail(what string) {
	const kept = 10
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == 0 {
		c.first = time.Now()
	}
	if c.failed++; len(c.errors) < kept {
		c.errors = append(c.errors, what)
	}
}

// home lets each user finish what is under way.
func (c *users) home() {
	close(c.stop)
	c.wg.Wait()
}

// content fails the test where a user saw an error; its virtual users have ended.
func (c *users) content(t *testing.T) {
	t.Helper()
	if c.served.Load() == 0 {
		t.Error("nobody was served")
	}
	if c.failed > 0 {
		t.Errorf("%d requests failed, and %d were served:\n%s", c.failed, c.served.Load(), strings.Join(c.errors, "\n"))
	}
}

// more waits until the virtual users have had n more responses.
func (c *users) more(t *testing.T, n int64) {
	t.Helper()
	from := c.served.Load()
	process.Await(t, fmt.Sprintf("%d more responses", n), func() (bool, string) {
		now := c.served.Load()
		return now >= from+n, fmt.Sprintf("%d came", now-from)
	})
}
