package listener

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"whittle"
)

// TLS names the files of a certificate, PEM. They are read again when they
// change; a bad pair is logged and the one before stays in use.
type TLS struct {
	// Certificate is the chain, the server's own certificate first.
	Certificate string
	Key         string
}

// certificateEvery is how often handshakes look whether the files have changed.
const certificateEvery = 2 * time.Second

// certificate is the pair in use.
type certificate struct {
	files TLS
	log   *slog.Logger

	mu     sync.Mutex // guards the following
	pair   *tls.Certificate
	stamp  [2]stamp
	looked time.Time
}

// stamp distinguishes one content of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

func loadCertificate(files TLS, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log, looked: time.Now()}
	c.stamp = c.stamps()
	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "load TLS certificate: %w", err).
			WithHint("tls needs a PEM certificate chain and the key that belongs to it")
	}
	c.pair = &pair
	return c, nil
}

func (c *certificate) stamps() (s [2]stamp) {
	for i, name := range []string{c.files.Certificate, c.files.Key} {
		if fi, err := os.Stat(name); err == nil {
			s[i] = stamp{fi.ModTime(), fi.Size()}
		}
	}
	return s
}

// get is tls.Config's GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateEvery {
		c.looked = now
		c.refresh()
	}
	return c.pair, nil
}

// refresh reads the files again if they have changed. Between the writing of
// the one and the other the pair does not fit: the next look finds it whole.
func (c *certificate) refresh() {
	s := c.stamps()
	if s == c.stamp {
		return
	}
	pair, err := tls.LoadX509KeyPair(c.files.Certificate, c.files.Key)
	if err != nil {
		c.log.Error("reload TLS certificate: the one before stays in use", "err", err)
		return
	}
	c.pair, c.stamp = &pair, s
}
