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
	red    = color.NRGBA{0xe8, 0x2c, 0x3c, 0xff}
	glass  = color.NRGBA{0x24, 0x26, 0x2e, 0xff}
	gleam  = color.NRGBA{0x62, 0x66, 0x74, 0xff}
	white  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// emoji draws what is on a round, yellow face.
type emoji func(p *pen)

var all = []emoji{grin, cool, surprised, winking}

var (
	leftEye, rightEye = point{0.33, 0.4}, point{0.67, 0.4}
	mouth             = point{0.5, 0.58}
)

// sprite draws an emoji, size pixels wide and high.
func (e emoji) sprite(size int) *image.RGBA {
	p := newPen(size)
	mid := point{0.5, 0.5}
	p.ellipse(rim, mid, 0.5, 0.5)
	p.ellipse(skin, mid, 0.478, 0.478)
	p.ellipse(shine, point{0.5, 0.3}, 0.37, 0.245)
	p.ellipse(shine, point{0.5, 0.26}, 0.29, 0.19)
	e(p)
	return p.to
}

func grin(p *pen) {
	p.ellipse(dark, leftEye, 0.055, 0.085)
	p.ellipse(dark, rightEye, 0.055, 0.085)
	// A wide mouth with teeth and tongue.
	p.bowl(inside, mouth, 0.29, 0.29, 0.04)
	p.bowl(white, mouth.plus(0, 0.012), 0.262, 0.085, 0.04)
	p.ellipse(tongue, mouth.plus(0, 0.225), 0.14, 0.055)
}

func cool(p *pen) {
	p.stroke(glass, point{0.06, 0.36}, point{0.5, 0.31}, point{0.94, 0.36}, 0.05)
	for _, mid := range []point{{0.3, 0.35}, {0.7, 0.35}} {
		p.bowl(glass, mid, 0.185, 0.19, -0.05)
		p.stroke(gleam, mid.plus(-0.1, 0.05), mid.plus(-0.06, 0.1), mid.plus(0, 0.125), 0.028)
	}
	p.stroke(dark, point{0.32, 0.69}, point{0.52, 0.82}, point{0.7, 0.66}, 0.045)
}

func surprised(p *pen) {
	for _, eye := range []point{leftEye, rightEye} {
		p.ellipse(white, eye.plus(0, 0.02), 0.085, 0.1)
		p.ellipse(dark, eye.plus(0, 0.03), 0.04, 0.05)
	}
	p.stroke(dark, point{0.22, 0.24}, point{0.31, 0.16}, point{0.4, 0.21}, 0.033)
	p.stroke(dark, point{0.78, 0.24}, point{0.69, 0.16}, point{0.6, 0.21}, 0.033)
	p.ellipse(inside, point{0.5, 0.74}, 0.105, 0.13)
	p.ellipse(tongue, point{0.5, 0.82}, 0.065, 0.04)
}

func winking(p *pen) {
	p.ellipse(dark, leftEye, 0.055, 0.085)
	p.stroke(dark, rightEye.plus(-0.1, 0.03), rightEye.plus(0, -0.08), rightEye.plus(0.1, 0.03), 0.045)
	p.bowl(inside, mouth, 0.27, 0.2, 0.04)
	p.bowl(tongue, mouth.plus(0.03, 0.1), 0.12, 0.24, -0.06)
	p.stroke(red, mouth.plus(0.03, 0.11), mouth.plus(0.032, 0.17), mouth.plus(0.03, 0.22), 0.018)
}
