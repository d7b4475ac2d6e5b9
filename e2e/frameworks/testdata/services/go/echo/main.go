// The people, on echo: a group, echo's middlewares, a method value.
package main

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"example.com/services/echo/avatars"
	"example.com/services/start"
)

func main() {
	e := echo.New()
	e.Use(middleware.Recover(), middleware.RequestID(), timed)
	users := e.Group("/users")
	a := avatars.New()
	users.GET("/:id/avatar", a.Draw)
	users.GET("/:id", func(c echo.Context) error { return c.String(http.StatusOK, c.Param("id")) })
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	http.Serve(start.Listen(), e)
}

func timed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("X-People", "1")
		return next(c)
	}
}
