// Package api is emojify's public face: it takes a picture's URL, has workers
// fetch it, find the faces and cover them, keeps the result in the cache
// service, and streams it from there to whoever asks.
package api
