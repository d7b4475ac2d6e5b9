package listener

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// Certificate is a chain, the server's own certificate first, and Key its key. It
	// is what a client gets that names no host, or one without a certificate. Empty:
	// there is a Folder.
	Certificate, Key string
	// Folder has certificates by host: NAME.crt or NAME.pem with NAME.key, NAME.pem
	// with both in it, or a folder with fullchain.pem and privkey.pem, or tls.crt and
	// tls.key. The hosts are those that each certificate is for. Empty: there is none.
	Folder string
	// ClientCA are the authorities whose certificates clients show. Empty: they are
	// not asked.
	ClientCA string
	// ClientOptional lets clients in that show none.
	ClientOptional bool
	// MinVersion is the lowest version of TLS. 0: 1.2.
	MinVersion uint16
}

const (
	// certificateEvery is how often handshakes look whether the files have changed.
	certificateEvery = 2 * time.Second
	// maxCertificates bounds what a folder has.
	maxCertificates = 10_000
)

// Certificates are those of a listener, as they are in use.
type Certificates struct {
	files TLS
	log   *slog.Logger
	now   atomic.Pointer[inUse]

	mu     sync.Mutex // guards the following; no handshake waits for it
	pairs  map[pairFiles]*pair
	ca     []byte
	looked time.Time
}

// inUse is one state of the certificates.
type inUse struct {
	byHost map[string][]*tls.Certificate
	other  []*tls.Certificate // for hosts that none is for
	conf   *tls.Config
}

// pairFiles are the files of a chain and of its key; they may be one.
type pairFiles struct{ certificate, key string }

// pair is a certificate as it was read last.
type pair struct {
	certificate *tls.Certificate // nil: it could not be read yet
	stamp       [2]pemfile.Stamp // of the files, as they were read or found bad
}

// LoadTLS reads the files. Whatever cannot be read is an error here.
func LoadTLS(files TLS, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, looked: time.Now(), pairs: map[pairFiles]*pair{}}
	if err := c.refresh(); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "load TLS certificate: %w", err).
			WithHint("tls needs PEM certificate chains and the keys that belong to them")
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
			return c.now.Load().conf, nil
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

// refresh reads the files that have changed. Between the writing of a certificate and
// of its key they do not fit: the next look finds them whole. What could not be read is
// in the error, once for each content.
func (c *Certificates) refresh() error {
	files, err := c.list()
	if err != nil {
		return err
	}
	var errs []error
	changed := c.now.Load() == nil
	for _, f := range files {
		s := [2]pemfile.Stamp{pemfile.StampOf(f.certificate), pemfile.StampOf(f.key)}
		p := c.pairs[f]
		if p != nil && p.stamp == s {
			continue
		}
		if p == nil {
			p = &pair{}
			c.pairs[f] = p
		}
		p.stamp = s
		read, err := pemfile.Pair(f.certificate, f.key)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.certificate, err))
			continue
		}
		p.certificate, changed = &read, true
	}
	maps.DeleteFunc(c.pairs, func(f pairFiles, _ *pair) bool {
		gone := !slices.Contains(files, f)
		changed = changed || gone
		return gone
	})
	if c.files.ClientCA != "" {
		ca, err := pemfile.Read(c.files.ClientCA)
		switch {
		case err != nil:
			errs = append(errs, err)
		case string(ca) != string(c.ca):
			if !x509.NewCertPool().AppendCertsFromPEM(ca) {
				errs = append(errs, fmt.Errorf("%s has no certificate in it", c.files.ClientCA))
				break
			}
			c.ca, changed = ca, true
		}
	}
	if changed {
		if next := c.use(files); len(next.other) > 0 {
			c.now.Store(next)
		} else if len(errs) == 0 {
			errs = append(errs, fmt.Errorf("%s has no certificate in it", c.files.Folder))
		}
	}
	return errors.Join(errs...)
}

// list gives the pairs that there are, first the one for hosts without a pair of their own.
func (c *Certificates) list() (files []pairFiles, err error) {
	if c.files.Certificate != "" {
		files = append(files, pairFiles{c.files.Certificate, c.files.Key})
	}
	if c.files.Folder == "" {
		return files, nil
	}
	entries, err := os.ReadDir(c.files.Folder)
	if err != nil {
		return nil, err
	}
	if len(entries) > 2*maxCertificates {
		return nil, fmt.Errorf("%s has more than %d files", c.files.Folder, 2*maxCertificates)
	}
	var found []pairFiles
	for _, e := range entries {
		path := filepath.Join(c.files.Folder, e.Name())
		if f, ok := pairOf(path); ok && !strings.HasPrefix(e.Name(), ".") {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b pairFiles) int { return isDefault(b) - isDefault(a) })
	return append(files, found...), nil
}

// isDefault is 1 for the pair of a folder that is for all other hosts.
func isDefault(f pairFiles) int {
	if name := filepath.Base(f.certificate); strings.TrimSuffix(name, filepath.Ext(name)) == "default" || filepath.Base(filepath.Dir(f.certificate)) == "default" {
		return 1
	}
	return 0
}

// pairOf gives the pair to which an entry of the folder belongs, if it is the one
// with the certificate.
func pairOf(path string) (pairFiles, bool) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		for _, names := range [][2]string{{"fullchain.pem", "privkey.pem"}, {"tls.crt", "tls.key"}} {
			f := pairFiles{filepath.Join(path, names[0]), filepath.Join(path, names[1])}
			if exists(f.certificate) && exists(f.key) {
				return f, true
			}
		}
		return pairFiles{}, false
	}
	ext := filepath.Ext(path)
	if ext != ".crt" && ext != ".pem" {
		return pairFiles{}, false
	}
	if key := strings.TrimSuffix(path, ext) + ".key"; exists(key) {
		return pairFiles{path, key}, true
	}
	return pairFiles{path, path}, ext == ".pem"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// use makes the state of what was read.
func (c *Certificates) use(files []pairFiles) *inUse {
	u := &inUse{byHost: map[string][]*tls.Certificate{}}
	for _, f := range files {
		one := c.pairs[f].certificate
		if one == nil {
			continue
		}
		if len(u.other) == 0 || c.files.Certificate == "" && isDefault(f) == 1 {
			u.other = append(u.other, one)
		}
		for _, host := range hostsOf(one) {
			u.byHost[host] = append(u.byHost[host], one)
		}
	}
	u.conf = &tls.Config{
		MinVersion:     max(tls.VersionTLS12, c.files.MinVersion),
		NextProtos:     protocols,
		GetCertificate: u.get,
	}
	if c.files.ClientCA != "" {
		u.conf.ClientAuth, u.conf.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		u.conf.ClientCAs.AppendCertsFromPEM(c.ca)
		if c.files.ClientOptional {
			u.conf.ClientAuth = tls.VerifyClientCertIfGiven
		}
	}
	return u
}

func hostsOf(c *tls.Certificate) []string {
	names := c.Leaf.DNSNames
	if len(names) == 0 {
		names = []string{c.Leaf.Subject.CommonName}
	}
	hosts := make([]string, len(names))
	for i, name := range names {
		hosts[i] = strings.ToLower(name)
	}
	return hosts
}

// get is tls.Config's GetCertificate: of those for the host that the client names, the
// first that the client can read.
func (u *inUse) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	host := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	found := u.byHost[host]
	if len(found) == 0 {
		_, domain, _ := strings.Cut(host, ".")
		found = u.byHost["*."+domain]
	}
	if len(found) == 0 {
		found = u.other
	}
	for _, one := range found {
		if hello.SupportsCertificate(one) == nil {
			return one, nil
		}
	}
	return found[0], nil
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
