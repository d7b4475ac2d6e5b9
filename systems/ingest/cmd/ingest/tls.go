package main

import (
	"crypto/tls"
	"sync/atomic"

	"whittle"
)

// tlsFlags are the public port's certificate.
type tlsFlags struct {
	TLSCert string `name:"tls-cert" env:"INGEST_TLS_CERT" placeholder:"FILE" help:"Serve HTTPS with this certificate and the chain behind it, in PEM; read again when it changes and on SIGHUP."`
	TLSKey  string `name:"tls-key" env:"INGEST_TLS_KEY" placeholder:"FILE" help:"The certificate's private key, in PEM."`
}

// certificate is the one in force.
type certificate struct {
	cert, key string
	current   atomic.Pointer[tls.Certificate]
}

// readCertificate reads the flags' files; nil where they name none.
func (f *tlsFlags) readCertificate() (*certificate, error) {
	if f.TLSCert == "" && f.TLSKey == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if f.TLSCert == "" || f.TLSKey == "" {
		return nil, whittle.Errorf(whittle.Invalid, "--tls-cert and --tls-key belong together, and one of them is missing")
	}
	c := &certificate{cert: f.TLSCert, key: f.TLSKey}
	return c, c.reload()
}

// reload reads the files again. After an error the old certificate stays in force.
func (c *certificate) reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return whittle.Errorf(whittle.Invalid, "read --tls-cert %s and --tls-key %s: %w", c.cert, c.key, err)
	}
	c.current.Store(&pair)
	return nil
}

// config speaks HTTP/1 only: events come in small requests over connections
// that stay, to which HTTP/2 adds nothing.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1", "http/1.0"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
