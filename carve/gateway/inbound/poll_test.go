package inbound

import "testing"

// TestPolls: what clients send for a connection made of polls, as their libraries write
// it, and what only looks like it.
func TestPolls(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"/socket.io/?EIO=4&transport=polling&t=OqYx1":                   true, // the handshake
		"/socket.io/?EIO=4&transport=polling&t=OqYx2&sid=Zc1x":          true,
		"/engine.io/?EIO=3&transport=polling&j=0&b64=1":                 true,
		"/chat/?transport=polling&EIO=4":                                true,
		"/socket.io/?EIO=4&transport=websocket":                         false, // an upgrade, or refused
		"/report?transport=polling":                                     false,
		"/report?EIO=4":                                                 false,
		"/sockjs/482/3jx1k0ve/xhr":                                      true,
		"/sockjs/482/3jx1k0ve/xhr_streaming":                            true,
		"/sockjs/000/abc/jsonp?c=_jp.a":                                 true,
		"/a/b/sockjs/482/3jx1k0ve/eventsource":                          true,
		"/sockjs/info?t=1":                                              false,
		"/orders/482/lines/xhr2":                                        false,
		"/orders/48/lines/xhr":                                          false,
		"/xhr":                                                          false,
		"/signalr/poll?transport=longPolling&connectionToken=x":         true,
		"/signalr/connect?transport=serverSentEvents&connectionToken=x": true,
		"/signalr/start?transport=webSockets":                           false,
		"/socket/longpoll?vsn=2.0.0&token=x":                            true,
		"/_blazor?id=abc":                                               true,
		"/_blazor/negotiate":                                            true,
		"/chat?X-Atmosphere-Transport=long-polling":                     true,
		"/":                       false,
		"":                        false,
		"/items?page=2&sort=name": false,
	} {
		if got := polls(target); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}
