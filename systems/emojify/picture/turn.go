package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// Turn is Exif's orientation, 1 to 8: cameras store what their sensor saw and
// note how they were held. 0 and 1: the pixels stand upright as they are.
type Turn uint8

// swaps reports whether width and height change places.
func (t Turn) swaps() bool { return t >= 5 && t <= 8 }

// Size returns the upright size of stored pixels.
func (t Turn) Size(width, height int) (int, int) {
	if t.swaps() {
		return height, width
	}
	return width, height
}

// stored returns where the upright pixel (x, y) is among w by h stored ones.
// Source: Exif 3.0 (CIPA DC-008), tag 274.
func (t Turn) stored(x, y, w, h int) (int, int) {
	switch t {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return y, h - 1 - x
	case 7:
		return w - 1 - y, h - 1 - x
	case 8:
		return w - 1 - y, x
	}
	return x, y
}

// back is the turn that undoes t.
func (t Turn) back() Turn {
	switch t {
	case 6:
		return 8
	case 8:
		return 6
	}
	return t
}

// Stored returns where an upright rectangle lies among w by h stored pixels.
func (t Turn) Stored(r image.Rectangle, w, h int) image.Rectangle {
	if r.Empty() {
		return image.Rectangle{}
	}
	x0, y0 := t.stored(r.Min.X, r.Min.Y, w, h)
	x1, y1 := t.stored(r.Max.X-1, r.Max.Y-1, w, h)
	return image.Rect(min(x0, x1), min(y0, y1), max(x0, x1)+1, max(y0, y1)+1)
}

// Upright returns where a rectangle of w by h stored pixels lies when upright.
func (t Turn) Upright(r image.Rectangle, w, h int) image.Rectangle {
	w, h = t.Size(w, h)
	return t.back().Stored(r, w, h)
}

// Turned returns w by h stored pixels upright: the same slice where nothing has
// to be turned. Each pixel has size bytes, and no row has bytes beyond its own.
func (t Turn) Turned(pix []byte, w, h, size int) []byte {
	if t < 2 || t > 8 {
		return pix
	}
	out := make([]byte, 0, len(pix))
	uw, uh := t.Size(w, h)
	for y := range uh {
		for x := range uw {
			sx, sy := t.stored(x, y, w, h)
			at := (sy*w + sx) * size
			out = append(out, pix[at:at+size]...)
		}
	}
	return out
}

const (
	markerScan  = 0xda // entropy-coded pixels follow
	markerApp1  = 0xe1
	orientation = 0x0112
	short       = 3
)

// turnOf reads the orientation from a JPEG's Exif segment, 0 where there is
// none that can be read: a picture is not refused for its notes.
func turnOf(b []byte) Turn {
	for at := 2; at+4 <= len(b) && b[at] == 0xff; {
		marker := b[at+1]
		if marker == 0xff { // fill byte
			at++
			continue
		}
		size := int(binary.BigEndian.Uint16(b[at+2:]))
		if marker == markerScan || size < 2 || at+2+size > len(b) {
			return 0
		}
		segment := b[at+4 : at+2+size]
		if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok && marker == markerApp1 {
			return tiffTurn(tiff)
		}
		at += 2 + size
	}
	return 0
}

// tiffTurn looks through the first directory of a TIFF block.
func tiffTurn(b []byte) Turn {
	if len(b) < 8 {
		return 0
	}
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 0
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 0
	}
	entries := b[at+2:]
	for range order.Uint16(b[at:]) {
		if len(entries) < 12 {
			return 0
		}
		if order.Uint16(entries) == orientation && order.Uint16(entries[2:]) == short {
			if t := order.Uint16(entries[8:]); t >= 1 && t <= 8 {
				return Turn(t)
			}
			return 0
		}
		entries = entries[12:]
	}
	return 0
}
