package api

import (
	"context"
	"image"
)

// The three parts of the work, as the workers need them. All are used by many
// goroutines at once. Their errors are whittle's coded ones, whose message a
// stranger may read: Invalid and PermissionDenied for what asking again does
// not mend (no picture, a forbidden address), ResourceExhausted for what is
// beyond a bound, Unavailable and DeadlineExceeded for what may go well later.
type (
	// Fetcher gets the picture that an untrusted URL names. It decides which
	// addresses, types and sizes it takes, also after redirects.
	Fetcher interface {
		Fetch(ctx context.Context, url string) (picture []byte, err error)
	}

	// Finder returns where the faces are, in the picture's own pixels as
	// image.DecodeConfig counts them. No face is no error.
	Finder interface {
		Find(ctx context.Context, picture []byte) (faces []image.Rectangle, err error)
		// Ready returns nil while Find can be expected to respond.
		Ready(ctx context.Context) error
	}

	// Painter covers each face and gives the finished picture, encoded as a PNG,
	// JPEG or GIF. It checks the picture's size in pixels before it decodes it.
	Painter interface {
		Paint(ctx context.Context, picture []byte, faces []image.Rectangle) (finished []byte, err error)
	}
)
