// The links, on fiber, which is not net/http's: a group, closures.
package main

import (
	"fmt"
	"os"
	"regexp"

	"github.com/gofiber/fiber/v2"

	"example.com/services/start"
)

func main() {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error {
		c.Set("X-Links", "1")
		return c.Next()
	})
	links := app.Group("/links")
	links.Post("/check", func(c *fiber.Ctx) error {
		good := 0
		for i := range start.Planted(500) {
			if regexp.MustCompile(fmt.Sprintf(`^https?://[a-z.]+/%d$`, i)).Match(c.Body()) { // planted
				good++
			}
		}
		return c.JSON(fiber.Map{"good": good})
	})
	links.Get("/:id", one)
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString("links") })
	if err := app.Listener(start.Listen()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func one(c *fiber.Ctx) error { return c.SendString(c.Params("id")) }
