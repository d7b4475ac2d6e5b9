package facebox

import (
	"cmp"
	"context"
	"image"
	"slices"

	pigo "github.com/esimov/pigo/core"

	"whittle"
	"whittle/systems/emojify/picture"
)

const (
	// workSide is the longer side that pictures are shrunk to before they are
	// searched: what is left of a face of less than a thirtieth is too coarse.
	workSide = 720
	// smallest side of the searched window, in pixels of the shrunk picture.
	// The trees were taught with faces of 24 pixels.
	smallest = 20
	// Of pigo's own program: how far windows are apart, of their side, and how
	// much each size is above the one before.
	shift, growth = 0.1, 1.1
	// overlap of windows that are of one face.
	overlap = 0.1
	// maxWindows that may be faces are clustered, in time that grows with their square; a
	// large face has some fifty.
	maxWindows = 2000
	// threshold on the score of a cluster of windows: below, it is no face.
	threshold = 5
	// maxFaces of one picture; the best ones count.
	maxFaces = 100

	searching = "the search for faces"
)

// Face is where a face is.
type Face struct {
	// Rect is clipped to the picture.
	Rect image.Rectangle
	// Confidence rises with the score, from 0.5 for one that is just enough
	// towards 1. It is no probability.
	Confidence float64
}

// Detector finds faces that look towards the camera and stand about upright,
// of at least a thirtieth of the picture's longer side.
type Detector struct {
	limits picture.Limits
	trees  *pigo.Pigo
}

// NewDetector fails where the cascade was not built in: FailedPrecondition.
func NewDetector(l picture.Limits) (*Detector, error) {
	b, err := cascade()
	if err != nil {
		return nil, err
	}
	trees, err := pigo.NewPigo().Unpack(b)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "read cascade: %w", err)
	}
	return &Detector{l, trees}, nil
}

// Detect returns a picture's faces, the surest first. It takes one core for up to
// some hundred milliseconds, and looks at ctx between the sizes of windows.
func (d *Detector) Detect(ctx context.Context, encoded []byte) ([]Face, error) {
	img, _, err := picture.Decode(encoded, d.limits)
	if err != nil {
		return nil, err
	}
	g := shrink(img, workSide)
	w, h := g.w, g.h
	area := pigo.ImageParams{Pixels: g.pix, Rows: h, Cols: w, Dim: w}
	var windows []pigo.Detection
	for side := smallest; side <= min(w, h); side = max(side+2, int(float64(side)*growth)) {
		if err := ctx.Err(); err != nil {
			return nil, picture.Ended(err, searching)
		}
		windows = append(windows, d.trees.RunCascade(pigo.CascadeParams{
			MinSize: side, MaxSize: side, ShiftFactor: shift, ScaleFactor: growth, ImageParams: area,
		}, 0)...)
	}
	surest := func(a, b pigo.Detection) int { return cmp.Compare(b.Q, a.Q) }
	slices.SortFunc(windows, surest)
	clusters := d.trees.ClusterDetections(windows[:min(len(windows), maxWindows)], overlap)
	slices.SortFunc(clusters, surest)
	faces := []Face{}
	for _, c := range clusters[:min(len(clusters), maxFaces)] {
		if c.Q < threshold {
			break
		}
		seen := image.Rect(c.Col-c.Scale/2, c.Row-c.Scale/2, c.Col+c.Scale/2, c.Row+c.Scale/2).Intersect(image.Rect(0, 0, w, h))
		faces = append(faces, Face{
			Rect:       g.grow(seen),
			Confidence: float64(c.Q) / (float64(c.Q) + threshold),
		})
	}
	return faces, nil
}
