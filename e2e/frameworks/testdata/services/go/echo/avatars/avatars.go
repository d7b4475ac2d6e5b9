// Package avatars draws people.
package avatars

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"net/http"

	"github.com/labstack/echo/v4"

	"example.com/services/start"
)

// Painter draws.
type Painter struct {
	size  int
	blank []byte // what is drawn of nobody
}

// New makes one.
func New() *Painter {
	var blank bytes.Buffer
	png.Encode(&blank, image.NewRGBA(image.Rect(0, 0, 1, 1)))
	return &Painter{size: start.Planted(360), blank: blank.Bytes()}
}

// Draw responds with a picture of a person.
func (p *Painter) Draw(c echo.Context) error {
	if p.size == 1 {
		return c.Blob(http.StatusOK, "image/png", p.blank)
	}
	picture := image.NewRGBA(image.Rect(0, 0, p.size, p.size))
	for x := range p.size {
		picture.Set(x, x*len(c.Param("id"))%p.size, color.RGBA{uint8(x), 7, 9, 255})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil { // planted
		return err
	}
	return c.Blob(http.StatusOK, "image/png", out.Bytes())
}
