package api

import (
	"errors"
	"io"

	"golang.org/x/sync/semaphore"
)

// Room for an upload is taken a quarter of what has come ahead of it. Who took
// room for the largest picture before its first byte would need eight
// connections and next to no bytes to have all of it.
const (
	firstReserve = 4 << 10
	growth       = 4 // a part of that many
)

// uploadMemory is what one upload has of the room for all.
type uploadMemory struct {
	of    *semaphore.Weighted // bytes
	taken int64
}

func (r *uploadMemory) release() { r.of.Release(r.taken) }

// read takes in a picture of up to most bytes, with room for it as it comes.
// Where there is none left the upload is refused: one that waited, with what it
// has, for others that do the same would wait for ever. Where more send than fit,
// more may be refused than need be: those who ask at once fail at once.
func (r *uploadMemory) read(from io.Reader, most int64) ([]byte, error) {
	var picture []byte
	for {
		have := int64(len(picture))
		if have == most {
			return picture, atEnd(from)
		}
		if have == r.taken {
			more := min(max(have/growth, firstReserve), most-have)
			if !r.of.TryAcquire(more) {
				return nil, busy("too many pictures are being sent")
			}
			r.taken += more
			picture = append(make([]byte, 0, r.taken), picture...)
		}
		n, err := from.Read(picture[have:r.taken])
		picture = picture[:have+int64(n)]
		if errors.Is(err, io.EOF) {
			return picture, nil
		}
		if err != nil {
			return nil, unreadable(err)
		}
	}
}

// atEnd finds out whether nothing more comes.
func atEnd(from io.Reader) error {
	var beyond [1]byte
	switch _, err := io.ReadFull(from, beyond[:]); {
	case err == nil:
		return tooLarge()
	case errors.Is(err, io.EOF):
		return nil
	default:
		return unreadable(err)
	}
}
