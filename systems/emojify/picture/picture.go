// Package picture decodes untrusted pictures. It checks the size before it
// decodes, and accepts three formats. It does no I/O.
package picture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"

	"whittle"
)

// Limits bounds a picture. The zero value takes the defaults.
type Limits struct {
	// Bytes of its encoding. 0: 10 MiB.
	Bytes int64
	// Pixels, width times height. Decoding and drawing take up to some 16 bytes
	// of memory for each. 0: 16 Mi, a photograph of 4096 by 4096.
	Pixels int64
}

// maxSide bounds width and height: no format's decoder has trouble below, and
// their product cannot overflow.
const maxSide = 1 << 16

// WithDefaults returns l with its zeros filled in.
func (l Limits) WithDefaults() Limits {
	l.Bytes = cmp.Or(max(l.Bytes, 0), 10<<20)
	l.Pixels = cmp.Or(max(l.Pixels, 0), 16<<20)
	return l
}

// Format is how a picture is encoded.
type Format string

// The formats that are taken. Of a GIF it is the first frame that counts.
const (
	JPEG Format = "jpeg"
	PNG  Format = "png"
	GIF  Format = "gif"
)

// Head is what can be known of a picture without decoding it.
type Head struct {
	Format Format
	// Width and Height in pixels.
	Width, Height int
}

// codec is a format and what its encoding starts with.
type codec struct {
	format Format
	start  string
	config func([]byte) (image.Config, error)
	decode func([]byte) (image.Image, error)
}

var codecs = []codec{
	{JPEG, "\xff\xd8\xff", reading(jpeg.DecodeConfig), reading(jpeg.Decode)},
	{PNG, "\x89PNG\r\n\x1a\n", reading(png.DecodeConfig), reading(png.Decode)},
	{GIF, "GIF87a", reading(gif.DecodeConfig), reading(gif.Decode)},
	{GIF, "GIF89a", reading(gif.DecodeConfig), reading(gif.Decode)},
}

// Inspect looks at a picture's head, and refuses by it what Decode must not be
// asked for: Invalid where b is no picture of a format that is taken,
// ResourceExhausted where it is beyond a limit.
func Inspect(b []byte, l Limits) (Head, error) {
	h, _, err := inspect(b, l.WithDefaults())
	return h, err
}

func inspect(b []byte, l Limits) (Head, codec, error) {
	if int64(len(b)) > l.Bytes {
		return Head{}, codec{}, whittle.Errorf(whittle.ResourceExhausted, "the picture has more than %d bytes", l.Bytes)
	}
	at := slices.IndexFunc(codecs, func(c codec) bool { return bytes.HasPrefix(b, []byte(c.start)) })
	if at < 0 {
		return Head{}, codec{}, whittle.Errorf(whittle.Invalid, "that is no JPEG, PNG or GIF picture")
	}
	c := codecs[at]
	size, err := c.config(b)
	switch {
	case err != nil:
		return Head{}, c, damaged(c.format, err)
	case size.Width <= 0 || size.Height <= 0:
		return Head{}, c, whittle.Errorf(whittle.Invalid, "the picture has no pixels")
	case size.Width > maxSide || size.Height > maxSide || int64(size.Width)*int64(size.Height) > l.Pixels:
		return Head{}, c, whittle.Errorf(whittle.ResourceExhausted, "the picture has %d by %d pixels, of at most %d in all",
			size.Width, size.Height, l.Pixels)
	}
	return Head{Format: c.format, Width: size.Width, Height: size.Height}, c, nil
}

// Decode inspects and decodes a picture; its bounds begin at 0, 0.
func Decode(b []byte, l Limits) (image.Image, Head, error) {
	h, c, err := inspect(b, l.WithDefaults())
	if err != nil {
		return nil, Head{}, err
	}
	img, err := c.decode(b)
	if err != nil {
		return nil, Head{}, damaged(c.format, err)
	}
	whole := image.Rect(0, 0, h.Width, h.Height)
	switch {
	case img.Bounds() == whole:
	case img.Bounds().In(whole):
		img = framed{img, whole}
	default:
		return nil, Head{}, whittle.Errorf(whittle.Invalid, "the picture is not of the size that it says")
	}
	return img, h, nil
}

// framed is a GIF's first frame on its screen, which may be larger.
type framed struct {
	image.Image
	screen image.Rectangle
}

func (f framed) Bounds() image.Rectangle { return f.screen }

func (f framed) ColorModel() color.Model { return color.RGBAModel }

func (f framed) At(x, y int) color.Color {
	if !image.Pt(x, y).In(f.Image.Bounds()) {
		return color.Transparent
	}
	return f.Image.At(x, y)
}

func reading[T any](f func(io.Reader) (T, error)) func([]byte) (T, error) {
	return func(b []byte) (T, error) { return f(bytes.NewReader(b)) }
}

func damaged(f Format, err error) error {
	return &whittle.Error{Code: whittle.Invalid, Message: "the picture is damaged: it begins as a " + string(f) + " and does not go on as one", Err: err}
}

// Ended is the error of work on a picture that its context's end, err, cut short, in
// words for a client.
func Ended(err error, what string) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &whittle.Error{Code: whittle.DeadlineExceeded, Message: what + " took too long", Err: err}
	}
	return &whittle.Error{Code: whittle.Canceled, Message: what + " was cancelled", Err: err}
}
