package main

func (s *server) routes() {
	s.mux.HandleFunc("GET /", s.handleIndex())
	s.mux.HandleFunc("GET /greet/{name}", s.handleGreet("hello %s"))
	s.mux.HandleFunc("POST /reports", s.adminOnly(s.handleReport()))
	s.mux.HandleFunc("GET /items/{id}", s.handleItem())
}
