package api

import (
	"context"
	"image"
)

// The two parts of the work, as the workers need them. Both are used by many
// goroutines at once. Their errors are whittle's coded ones, whose message a
// stranger may read: Invalid for what asking again does not mend (no picture),
// ResourceExhausted for what is beyond a bound, DeadlineExceeded for what may go
// well later.
type (
	// Finder returns where the faces are, in the picture's own pixels as
	// image.DecodeConfig counts them. No face is no error.
	Finder interface {
		Find(ctx context.Context, picture []byte) (faces []image.Rectangle, err error)
	}

	// Painter covers each face and gives the finished picture, encoded as a PNG,
	// JPEG or GIF. It checks the picture's size in pixels before it decodes it.
	Painter interface {
		Paint(ctx context.Context, picture []byte, faces []image.Rectangle) (finished []byte, err error)
	}
)
