package facebox

import (
	"image"
	"image/color"
)

// gray is a picture's brightness, shrunk.
type gray struct {
	pix  []byte // row by row
	w, h int
	of   image.Point // the size it was shrunk from
}

// shrink averages a picture's brightness over equal areas, so that its longer
// side has at most so many pixels; it never enlarges.
func shrink(img image.Image, side int) gray {
	size := img.Bounds().Size()
	g := gray{w: size.X, h: size.Y, of: size}
	if longer := max(size.X, size.Y); longer > side {
		g.w, g.h = max(size.X*side/longer, 1), max(size.Y*side/longer, 1)
	}
	luma := brightness(img)
	sums, counts := make([]uint32, g.w), make([]uint32, g.w)
	g.pix = make([]byte, 0, g.w*g.h)
	for y, row := 0, 0; row < g.h; row++ {
		clear(sums)
		clear(counts)
		for ; y < size.Y && y*g.h/size.Y == row; y++ {
			for x := range size.X {
				cell := x * g.w / size.X
				sums[cell] += uint32(luma(x, y))
				counts[cell]++
			}
		}
		for cell, sum := range sums {
			g.pix = append(g.pix, byte(sum/counts[cell]))
		}
	}
	return g
}

// brightness returns a pixel's luma by the short way where there is one.
func brightness(img image.Image) func(x, y int) byte {
	switch m := img.(type) {
	case *image.YCbCr:
		return func(x, y int) byte { return m.Y[m.YOffset(x, y)] }
	case *image.Gray:
		return func(x, y int) byte { return m.Pix[m.PixOffset(x, y)] }
	}
	return func(x, y int) byte { return color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y }
}

// grow returns a rectangle in the pixels of the picture that was shrunk.
func (g gray) grow(r image.Rectangle) image.Rectangle {
	return image.Rect(r.Min.X*g.of.X/g.w, r.Min.Y*g.of.Y/g.h, r.Max.X*g.of.X/g.w, r.Max.Y*g.of.Y/g.h)
}
