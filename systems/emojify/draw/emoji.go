package draw

import (
	"image"
	"image/color"
)

var (
	rim    = color.NRGBA{0xe0, 0x8a, 0x12, 0xff}
	skin   = color.NRGBA{0xff, 0xc8, 0x2e, 0xff}
	shine  = color.NRGBA{0xff, 0xec, 0x90, 0x60}
	dark   = color.NRGBA{0x4a, 0x2c, 0x10, 0xff}
	inside = color.NRGBA{0x6b, 0x22, 0x16, 0xff}
	tongue = color.NRGBA{0xf2, 0x5c, 0x66, 0xff}
	white  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// emoji draws a round, yellow face with a wide grin, size pixels wide and high.
func emoji(size int) *image.RGBA {
	p := newPen(size)
	mid, mouth := point{0.5, 0.5}, point{0.5, 0.58}
	p.ellipse(rim, mid, 0.5, 0.5)
	p.ellipse(skin, mid, 0.478, 0.478)
	p.ellipse(shine, point{0.5, 0.3}, 0.37, 0.245)
	p.ellipse(shine, point{0.5, 0.26}, 0.29, 0.19)
	p.ellipse(dark, point{0.33, 0.4}, 0.055, 0.085)
	p.ellipse(dark, point{0.67, 0.4}, 0.055, 0.085)
	p.bowl(inside, mouth, 0.29, 0.29, 0.04)
	p.bowl(white, mouth.plus(0, 0.012), 0.262, 0.085, 0.04)
	p.ellipse(tongue, mouth.plus(0, 0.225), 0.14, 0.055)
	return p.to
}
