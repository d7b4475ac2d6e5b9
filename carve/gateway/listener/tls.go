package listener

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/pemfile"
)

// TLS names files, all PEM. They are read again when they change. A bad
// file is logged, and the one before stays in use.
type TLS struct {
	// Certificate is a chain, the server's own certificate first, and Key its key.
	Certificate, Key string
	// ClientCA are the authorities whose certificates clients show. Empty: they are
	// not asked.
	ClientCA string
	// ClientOptional lets clients in that show none.
	ClientOptional bool
	// MinVersion is the lowest version of TLS. 0: 1.2.
	MinVersion uint16
}

// certificateEvery is how often handshakes look whether the files have changed.
const certificateEvery = 2 * time.Second

// Certificates are those of a listener, as they are in use.
type Certificates struct {
	files TLS
	log   *slog.Logger
	now   atomic.Pointer[tls.Config]

	mu     sync.Mutex       // guards the following; no handshake waits for it
	stamps [3]pemfile.Stamp // of the files, as they were read or found bad
	looked time.Time
}

// LoadTLS reads the files. Whatever cannot be read is an error here.
func LoadTLS(files TLS, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, looked: time.Now()}
	if err := c.refresh(); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "load TLS certificate: %w", err).
			WithHint("tls needs a PEM certificate chain and the key that belongs to it")
	}
	return c, nil
}

// protocols are those that clients may choose by ALPN.
var protocols = []string{"h2", "http/1.1", "http/1.0"}

// config is the listener's.
func (c *Certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, // the one in use says more
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.look()
			return c.now.Load(), nil
		},
	}
}

// look reads again what has changed, if it is time to and nobody else does.
func (c *Certificates) look() {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.looked) < certificateEvery {
		return
	}
	c.looked = now
	if err := c.refresh(); err != nil {
		c.log.Error("reload TLS certificate: the one before stays in use", "err", err)
	}
}

// refresh reads the files if one has changed. Between the writing of a certificate and
// of its key they do not fit: the next look finds them whole.
func (c *Certificates) refresh() error {
	stamps := [3]pemfile.Stamp{pemfile.StampOf(c.files.Certificate), pemfile.StampOf(c.files.Key), pemfile.StampOf(c.files.ClientCA)}
	if c.now.Load() != nil && stamps == c.stamps {
		return nil
	}
	c.stamps = stamps
	pair, err := pemfile.Pair(c.files.Certificate, c.files.Key)
	if err != nil {
		return fmt.Errorf("%s: %w", c.files.Certificate, err)
	}
	next := &tls.Config{MinVersion: max(tls.VersionTLS12, c.files.MinVersion), NextProtos: protocols, Certificates: []tls.Certificate{pair}}
	if c.files.ClientCA != "" {
		if next.ClientCAs, err = pemfile.Authorities(c.files.ClientCA); err != nil {
			return err
		}
		if next.ClientAuth = tls.RequireAndVerifyClientCert; c.files.ClientOptional {
			next.ClientAuth = tls.VerifyClientCertIfGiven
		}
	}
	c.now.Store(next)
	return nil
}

// identify notes whose certificate the client has shown, in the form of Envoy's
// X-Forwarded-Client-Cert.
func (c *client) identify(state *tls.ConnectionState) {
	if len(state.VerifiedChains) == 0 {
		return
	}
	leaf := state.VerifiedChains[0][0]
	sum := sha256.Sum256(leaf.Raw)
	b := []string{"Hash=" + hex.EncodeToString(sum[:]), "Subject=" + quoted(leaf.Subject.String())}
	for _, u := range leaf.URIs {
		b = append(b, "URI="+quoted(u.String()))
	}
	for _, name := range leaf.DNSNames {
		b = append(b, "DNS="+quoted(name))
	}
	c.certificate = strings.Join(b, ";")
}

// quoted is a value with quotes around it, and without bytes that end it or that no
// field holds.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
