// Serves every mistake at GET /fault/NAME and its twin at GET /clean/NAME, by the
// framework that is named: smells FRAMEWORK. By connect and gRPC, Greet takes the path
// as its name.
//
//go:debug randseednop=0
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"

	"connectrpc.com/connect"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v2"
	"github.com/gorilla/mux"
	"github.com/labstack/echo/v4"
	"google.golang.org/grpc"

	greetv1 "example.com/services/rpc/greet/v1"
	"example.com/services/rpc/greet/v1/greetv1connect"
	"example.com/services/smells/work"
	"example.com/services/start"
)

var routes = func() map[string]func() string {
	all := map[string]func() string{}
	for name, f := range work.Faults {
		all["/fault/"+name], all["/clean/"+name] = f, work.Cleans[name]
	}
	return all
}()

func plain(f func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, f()) }
}

type greeter struct {
	greetv1.UnimplementedGreetServiceServer
}

func (greeter) Greet(_ context.Context, r *greetv1.GreetRequest) (*greetv1.GreetResponse, error) {
	return &greetv1.GreetResponse{Text: routes[r.GetName()]()}, nil
}

type connected struct {
	greetv1connect.UnimplementedGreetServiceHandler
}

func (connected) Greet(_ context.Context, r *connect.Request[greetv1.GreetRequest]) (*connect.Response[greetv1.GreetResponse], error) {
	return connect.NewResponse(&greetv1.GreetResponse{Text: routes[r.Msg.GetName()]()}), nil
}

var frameworks = map[string]func(net.Listener) error{
	"net-http": func(l net.Listener) error {
		m := http.NewServeMux()
		for path, f := range routes {
			m.Handle("GET "+path, plain(f))
		}
		return http.Serve(l, m)
	},
	"gorilla": func(l net.Listener) error {
		m := mux.NewRouter()
		for path, f := range routes {
			m.HandleFunc(path, plain(f)).Methods("GET")
		}
		return http.Serve(l, m)
	},
	"chi": func(l net.Listener) error {
		m := chi.NewRouter()
		for path, f := range routes {
			m.Get(path, plain(f))
		}
		return http.Serve(l, m)
	},
	"gin": func(l net.Listener) error {
		gin.SetMode(gin.ReleaseMode)
		m := gin.New()
		for path, f := range routes {
			m.GET(path, func(c *gin.Context) { c.String(http.StatusOK, "%s", f()) })
		}
		return http.Serve(l, m)
	},
	"echo": func(l net.Listener) error {
		m := echo.New()
		for path, f := range routes {
			m.GET(path, func(c echo.Context) error { return c.String(http.StatusOK, f()) })
		}
		return http.Serve(l, m)
	},
	"fiber": func(l net.Listener) error {
		m := fiber.New(fiber.Config{DisableStartupMessage: true})
		for path, f := range routes {
			m.Get(path, func(c *fiber.Ctx) error { return c.SendString(f()) })
		}
		return m.Listener(l)
	},
	"connect": func(l net.Listener) error {
		m := http.NewServeMux()
		m.Handle(greetv1connect.NewGreetServiceHandler(connected{}))
		return http.Serve(l, m)
	},
	"grpc": func(l net.Listener) error {
		s := grpc.NewServer()
		greetv1.RegisterGreetServiceServer(s, greeter{})
		return s.Serve(l)
	},
}

func main() {
	runtime.SetMutexProfileFraction(5)
	if err := frameworks[os.Args[1]](start.Listen()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
