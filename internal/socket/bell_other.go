//go:build !linux

package socket

import (
	"errors"
	"time"
)

// Bell is to be had on Linux only.
type Bell struct{}

// NewBell fails.
func NewBell() (*Bell, error) { return nil, errors.ErrUnsupported }

// Ring does nothing.
func (b *Bell) Ring() {}

// Attend does nothing.
func (b *Bell) Attend(func() (more bool)) error { return errors.ErrUnsupported }

// SetDeadline does nothing.
func (b *Bell) SetDeadline(time.Time) error { return errors.ErrUnsupported }

// Close does nothing.
func (b *Bell) Close() {}
