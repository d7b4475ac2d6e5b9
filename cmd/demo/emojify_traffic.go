//go:build !demo_count

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/http"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/artillery"
	"whittle/load/cpu"
)

// traffic asks for the finished picture, at the demo's rate.
func (d *emojifyDemo) traffic(ctx context.Context, length time.Duration) (*loadBlock, error) {
	plan, err := artillery.Quick{
		URL: "http://" + d.api.Public + d.picture, Request: load.Request{Name: "GET /cache/{id}"}, Rate: d.times.rate, Duration: length,
	}.Plan()
	if err != nil {
		return nil, err
	}
	r, err := load.Run(ctx, plan, load.Options{MaxLate: time.Second, Grace: -1, Watch: []cpu.Process{
		{Name: "api", PID: d.api.Pid()}, {Name: "cache", PID: d.cache.Pid()},
	}})
	if err != nil {
		return nil, err
	}
	b := newLoadBlock(r)
	return &b, nil
}

// finishPicture sends a picture through the system, and waits until the cache
// has it.
func (d *emojifyDemo) finishPicture(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, emojifyWaitsFor)
	defer cancel()
	var b bytes.Buffer
	if err := png.Encode(&b, noise(480, 360)); err != nil {
		return whittle.Errorf(whittle.Internal, "draw picture: %w", err)
	}
	var job struct {
		ID string `json:"id"`
	}
	status, body, err := ask(ctx, http.MethodPost, "http://"+d.api.Public+"/emojify/", "image/png", &b)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &job); err != nil || status >= http.StatusBadRequest {
		return whittle.Errorf(whittle.Unavailable, "send picture: status %d: %s", status, bytes.TrimSpace(body))
	}
	d.picture = "/cache/" + job.ID
	if !poll(ctx, 50*time.Millisecond, func() bool {
		status, body, err = ask(ctx, http.MethodGet, "http://"+d.api.Public+d.picture, "", nil)
		return err != nil || status == http.StatusOK
	}) {
		return whittle.Errorf(whittle.Unavailable, "the picture was not finished in time: status %d: %s", status, bytes.TrimSpace(body))
	}
	if err == nil {
		d.screen.Say("a picture of %d bytes is finished and in the cache", len(body))
	}
	return err
}

// noise is a picture that no format makes small.
func noise(w, h int) image.Image {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			v := r.Uint32()
			img.SetRGBA(x, y, color.RGBA{uint8(v), uint8(v >> 8), uint8(v >> 16), 255})
		}
	}
	return img
}
