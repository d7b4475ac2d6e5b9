// The greetings, by Connect: an interceptor, a service of two methods.
package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	greetv1 "example.com/services/rpc/greet/v1"
	"example.com/services/rpc/greet/v1/greetv1connect"
	"example.com/services/start"
)

type greeter struct{ most int }

func (g *greeter) Greet(_ context.Context, r *connect.Request[greetv1.GreetRequest]) (*connect.Response[greetv1.GreetResponse], error) {
	text := r.Msg.GetName()
	for i := range g.most {
		text = strings.ToUpper(fmt.Sprintf("%s %d", text[:min(len(text), 20)], i)) // planted
	}
	return connect.NewResponse(&greetv1.GreetResponse{Text: text}), nil
}

func (g *greeter) Count(_ context.Context, r *connect.Request[greetv1.GreetRequest]) (*connect.Response[greetv1.GreetResponse], error) {
	return connect.NewResponse(&greetv1.GreetResponse{Text: fmt.Sprint(len(r.Msg.GetName()))}), nil
}

func tagged(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		response, err := next(ctx, r)
		if err == nil {
			response.Header().Set("X-Greeter", "1")
		}
		return response, err
	}
}

func main() {
	mux := http.NewServeMux()
	mux.Handle(greetv1connect.NewGreetServiceHandler(&greeter{most: start.Planted(30_000)}, connect.WithInterceptors(connect.UnaryInterceptorFunc(tagged))))
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "well") })
	http.Serve(start.Listen(), mux)
}
