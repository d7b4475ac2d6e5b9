// Package pemfile reads certificates and keys from files in PEM. A named pipe or a device
// in the place of a file is an error: reading one could wait for ever.
package pemfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// most bounds a file; the certificates of all authorities that a system trusts have some
// hundred kilobytes.
const most = 16 << 20

// Read reads a whole regular file.
func Read(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe that nobody writes to is opened at once
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case info.Size() > most:
		return nil, fmt.Errorf("%s is larger than %d MiB", name, most>>20)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// Pair reads a chain of certificates, the own one first, and the key that belongs to it.
func Pair(certificate, key string) (tls.Certificate, error) {
	chain, err := Read(certificate)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := Read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(chain, private)
}

// Authorities reads certificates that others are checked by.
func Authorities(name string) (*x509.CertPool, error) {
	b, err := Read(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return pool, nil
}

// Stamp distinguishes one content of a file from another; the zero one is of no file.
type Stamp struct {
	at   time.Time
	size int64
}

// StampOf looks at a file, and does not read it.
func StampOf(name string) Stamp {
	info, err := os.Stat(name)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info.ModTime(), info.Size()}
}
