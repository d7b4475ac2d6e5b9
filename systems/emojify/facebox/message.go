package facebox

import (
	"image"
)

// response is FaceBox's, as far as it says where faces are.
type response struct {
	Success    bool        `json:"success"`
	Error      string      `json:"error,omitempty"`
	FacesCount int         `json:"facesCount"`
	Faces      []foundFace `json:"faces"`
}

type foundFace struct {
	Rect rect `json:"rect"`
	// Matched to a face that was taught. Nothing can be taught here.
	Matched    bool    `json:"matched"`
	Confidence float64 `json:"confidence"`
}

type rect struct {
	Top    int `json:"top"`
	Left   int `json:"left"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

func responseOf(faces []Face) response {
	a := response{Success: true, FacesCount: len(faces), Faces: make([]foundFace, len(faces))}
	for i, f := range faces {
		a.Faces[i] = foundFace{Rect: rect{f.Rect.Min.Y, f.Rect.Min.X, f.Rect.Dx(), f.Rect.Dy()}, Confidence: f.Confidence}
	}
	return a
}

// rectangle is empty where the numbers are of no picture.
func (r rect) rectangle() image.Rectangle {
	const most = 1 << 20
	if r.Width <= 0 || r.Height <= 0 || r.Width > most || r.Height > most || max(r.Top, r.Left) > most || min(r.Top, r.Left) < -most {
		return image.Rectangle{}
	}
	return image.Rect(r.Left, r.Top, r.Left+r.Width, r.Top+r.Height)
}
