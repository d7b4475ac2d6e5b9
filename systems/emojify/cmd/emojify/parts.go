package main

import (
	"whittle"
	"whittle/systems/emojify/picture"
)

// pictureFlags bound the pictures that are taken, wherever they come from.
type pictureFlags struct {
	MaxPicture int64 `group:"limits" default:"8388608" placeholder:"N" help:"Bytes of the largest picture that is taken (${default})."`
	MaxPixels  int64 `group:"limits" default:"16777216" placeholder:"N" help:"Pixels of the largest picture (${default}); each takes some 16 bytes of memory while it is worked on."`
}

func (f *pictureFlags) limits() (picture.Limits, error) {
	if f.MaxPicture < 1 || f.MaxPixels < 1 {
		return picture.Limits{}, whittle.Errorf(whittle.Invalid, "--max-picture is %d and --max-pixels %d, they must be above 0", f.MaxPicture, f.MaxPixels)
	}
	return picture.Limits{Bytes: f.MaxPicture, Pixels: f.MaxPixels}, nil
}
