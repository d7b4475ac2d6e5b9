// The greetings, by gRPC: an interceptor, a service of two methods.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"

	greetv1 "example.com/services/rpc/greet/v1"
	"example.com/services/start"
)

type greeter struct {
	greetv1.UnimplementedGreetServiceServer
	most int
}

func (g *greeter) Greet(_ context.Context, r *greetv1.GreetRequest) (*greetv1.GreetResponse, error) {
	text := r.GetName()
	for i := range g.most {
		text = strings.ToUpper(fmt.Sprintf("%s %d", text[:min(len(text), 20)], i)) // planted
	}
	return &greetv1.GreetResponse{Text: text}, nil
}

func (g *greeter) Count(_ context.Context, r *greetv1.GreetRequest) (*greetv1.GreetResponse, error) {
	return &greetv1.GreetResponse{Text: fmt.Sprint(len(r.GetName()))}, nil
}

func tagged(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	return next(ctx, in)
}

func main() {
	s := grpc.NewServer(grpc.UnaryInterceptor(tagged))
	greetv1.RegisterGreetServiceServer(s, &greeter{most: start.Planted(30_000)})
	if err := s.Serve(start.Listen()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
