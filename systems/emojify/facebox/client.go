package facebox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"

	"whittle"
	"whittle/systems/emojify/picture"
)

// maxResponse bounds a response, in bytes: a FaceBox adds a print to each face.
const maxResponse = 4 << 20

// Client asks a FaceBox, Machine Box's or the one in this package.
type Client struct {
	base string
	http *http.Client
}

// NewClient takes the box's URL, such as http://127.0.0.1:8080. The caller's
// contexts bound the calls. Close it when done.
func NewClient(base string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, whittle.Errorf(whittle.Invalid, "face detection's address %q is not of the form http://HOST:PORT", base)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 64, MaxResponseHeaderBytes: 16 << 10}
	return &Client{u.JoinPath("/").String(), &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close releases the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Find returns a picture's faces, clipped to it.
func (c *Client) Find(ctx context.Context, encoded []byte) ([]image.Rectangle, error) {
	head, err := picture.Inspect(encoded, picture.Limits{Bytes: int64(len(encoded)), Pixels: 1 << 32})
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "picture."+string(head.Format))
	if err == nil {
		_, err = file.Write(encoded)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return nil, fmt.Errorf("make form: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"facebox/check", &body)
	if err != nil {
		return nil, fmt.Errorf("ask face detection: %w", err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Accept", "application/json")
	status, b, err := c.do(req)
	if err != nil {
		return nil, err
	}
	return readFaces(status, b, image.Rect(0, 0, head.Width, head.Height))
}

// readFaces reads a response. A box that does not know what it was sent responds
// 4xx or with success false; what it says is kept for the log.
func readFaces(status int, b []byte, within image.Rectangle) ([]image.Rectangle, error) {
	var a response
	if err := json.Unmarshal(b, &a); err != nil {
		if status != http.StatusOK {
			return nil, refused(status, "")
		}
		return nil, &whittle.Error{Code: whittle.Unavailable, Message: "face detection's response cannot be read", Err: err}
	}
	if status != http.StatusOK || !a.Success {
		return nil, refused(status, a.Error)
	}
	var faces []image.Rectangle
	for _, f := range a.Faces[:min(len(a.Faces), maxFaces)] {
		if r := f.Rect.rectangle().Intersect(within); !r.Empty() {
			faces = append(faces, r)
		}
	}
	return slices.Clip(faces), nil
}

func refused(status int, said string) error {
	cause := fmt.Errorf("it responded with %d: %.200q", status, said)
	switch {
	case status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented:
		return &whittle.Error{Code: whittle.Unavailable, Message: "face detection is not able to respond now", Err: cause}
	case status == http.StatusRequestEntityTooLarge:
		return &whittle.Error{Code: whittle.ResourceExhausted, Message: "the picture is too large for face detection", Err: cause}
	case status == http.StatusNotFound || status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &whittle.Error{Code: whittle.Unavailable, Message: "face detection is not where it should be", Err: cause}
	}
	return &whittle.Error{Code: whittle.Invalid, Message: "face detection cannot read the picture", Err: cause}
}

// Ready returns nil where the box says that it is.
func (c *Client) Ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"readyz", nil)
	if err != nil {
		return fmt.Errorf("ask face detection: %w", err)
	}
	status, _, err := c.do(req)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return whittle.Errorf(whittle.Unavailable, "face detection is not ready: it responded with %d", status)
	}
	return nil
}

func (c *Client) do(req *http.Request) (status int, body []byte, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, unreached(req.Context(), err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return 0, nil, unreached(req.Context(), err)
	}
	if len(body) > maxResponse {
		return 0, nil, whittle.Errorf(whittle.Unavailable, "face detection's response has more than %d bytes", maxResponse)
	}
	return resp.StatusCode, body, nil
}

func unreached(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &whittle.Error{Code: whittle.Canceled, Message: "the request was cancelled", Err: err}
	case ctx.Err() != nil:
		return &whittle.Error{Code: whittle.DeadlineExceeded, Message: "face detection did not respond in time", Err: err}
	}
	return &whittle.Error{Code: whittle.Unavailable, Message: "face detection cannot be reached", Err: err}
}
