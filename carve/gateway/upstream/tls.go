package upstream

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"sync"
	"time"

	"whittle"
	"whittle/internal/pemfile"
)

// filesEvery is how often handshakes look whether the files have changed.
const filesEvery = 2 * time.Second

// clientTLS is how an upstream is spoken to by TLS, by files that may change.
type clientTLS struct {
	spec     whittle.UpstreamTLS
	insecure bool
	log      *slog.Logger
	sessions tls.ClientSessionCache

	mu     sync.Mutex // guards the following
	roots  *x509.CertPool
	pair   *tls.Certificate // nil: none is shown
	stamps [3]pemfile.Stamp
	looked time.Time
}

// CheckTLS reads the files by which an upstream is spoken to, as New does. Its errors name the
// field at fault.
func CheckTLS(spec *whittle.Upstream) error {
	_, _, err := (&clientTLS{spec: spec.TLS}).load()
	return err
}

func newClientTLS(spec *whittle.Upstream, log *slog.Logger) (*clientTLS, error) {
	t := &clientTLS{spec: spec.TLS, insecure: spec.Insecure, log: log, sessions: tls.NewLRUClientSessionCache(0), looked: time.Now()}
	t.stamps = t.look()
	var err error
	t.roots, t.pair, err = t.load()
	return t, err
}

func (t *clientTLS) look() [3]pemfile.Stamp {
	return [3]pemfile.Stamp{pemfile.StampOf(t.spec.CA), pemfile.StampOf(t.spec.Certificate), pemfile.StampOf(t.spec.Key)}
}

// load reads the files. Its errors name the field at fault.
func (t *clientTLS) load() (roots *x509.CertPool, pair *tls.Certificate, err error) {
	if t.spec.CA != "" {
		if roots, err = pemfile.Authorities(t.spec.CA); err != nil {
			return nil, nil, whittle.Errorf(whittle.Invalid, "read the upstream's CA %q: %w", t.spec.CA, err).WithField("tls.ca").
				WithHint("ca: names a file with the certificates of those who sign the upstream's, in PEM")
		}
	}
	if t.spec.Certificate != "" {
		c, err := pemfile.Pair(t.spec.Certificate, t.spec.Key)
		if err != nil {
			return nil, nil, whittle.Errorf(whittle.Invalid, "load the certificate for the upstream: %w", err).WithField("tls.cert").
				WithHint("cert: names a chain of certificates in PEM, and key: the key that belongs to it")
		}
		pair = &c
	}
	return roots, pair, nil
}

// refresh reads the files again if they have changed. What cannot be read leaves
// what was read before in use: one of a pair is written before the other.
func (t *clientTLS) refresh(now time.Time) {
	if now.Sub(t.looked) < filesEvery {
		return
	}
	t.looked = now
	s := t.look()
	if s == t.stamps {
		return
	}
	roots, pair, err := t.load()
	if err != nil {
		t.log.Error("reload an upstream's TLS files: those before stay in use", "err", err)
		return
	}
	t.roots, t.pair, t.stamps = roots, pair, s
	t.sessions = tls.NewLRUClientSessionCache(0) // resumed ones would go on with the old certificate
}

// config is that of a handshake with an instance whose URL says server.
func (t *clientTLS) config(server string, spoken []string) *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh(time.Now())
	c := &tls.Config{
		ServerName: cmp.Or(t.spec.ServerName, server), RootCAs: t.roots, NextProtos: spoken,
		MinVersion: cmp.Or(t.spec.MinVersion, tls.VersionTLS12), ClientSessionCache: t.sessions,
		InsecureSkipVerify: t.insecure, //nolint:gosec // the operator asked for it, by name, for this upstream
	}
	if t.pair != nil {
		c.Certificates = []tls.Certificate{*t.pair}
	}
	return c
}
