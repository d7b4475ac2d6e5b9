package inbound

import "strings"

// polls reports whether a request belongs to a connection that is made of polls, as
// clients use where WebSocket is not to be had. Its response is what that session's
// server has to say next, given once, and no other server knows the session: Engine.IO
// (Socket.IO), SockJS (Meteor), SignalR of ASP.NET, Phoenix, Blazor, Atmosphere.
func polls(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	if path == "/_blazor" || strings.HasPrefix(path, "/_blazor/") || strings.HasSuffix(path, "/longpoll") || sockJS(path) {
		return true
	}
	engine := false
	polling := false
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "EIO":
			engine = true
		case "transport":
			polling = polling || value == "polling"
			if value == "longPolling" || value == "serverSentEvents" || value == "foreverFrame" {
				return true
			}
		case "X-Atmosphere-Transport":
			return true
		}
	}
	return engine && polling
}

// sockJS reports whether a path ends in server, session and transport: three digits, a
// name and one of a few words.
func sockJS(path string) bool {
	rest, transport, ok := cutLast(path)
	if !ok {
		return false
	}
	switch transport {
	case "xhr", "xhr_send", "xhr_streaming", "jsonp", "jsonp_send", "eventsource", "htmlfile":
	default:
		return false
	}
	rest, session, ok := cutLast(rest)
	if !ok || session == "" {
		return false
	}
	_, server, ok := cutLast(rest)
	return ok && len(server) == 3 && strings.Trim(server, "0123456789") == ""
}

func cutLast(path string) (before, last string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}
