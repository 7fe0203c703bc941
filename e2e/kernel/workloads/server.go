// The Go server among the workloads. Environment: PORT. See server.ts.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

type line struct {
	Method  string  `json:"method"`
	Status  int     `json:"status"`
	Route   string  `json:"route"`
	Seconds float64 `json:"seconds"`
}

var out = json.NewEncoder(os.Stdout)
var one sync.Mutex

func answer(status int, route string, body string, after time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(after)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		one.Lock()
		defer one.Unlock()
		_ = out.Encode(line{r.Method, status, route, time.Since(started).Seconds()})
	}
}

func main() {
	mux := http.NewServeMux()
	mux.Handle("GET /cart/{id}", answer(200, "/cart/{id}", "cart", 0))
	mux.Handle("GET /missing", answer(404, "/missing", "missing", 0))
	mux.Handle("GET /boom", answer(500, "/boom", "boom", 0))
	mux.Handle("GET /slow", answer(200, "/slow", "slow", 500*time.Millisecond))
	mux.Handle("GET /warm", answer(200, "/warm", "warm", 0))
	mux.Handle("POST /orders", answer(201, "/orders", strings.Repeat("o", 5000), 0))
	mux.Handle("DELETE /orders/{id}", answer(204, "/orders/{id}", "", 0))
	listener, err := net.Listen("tcp", ":"+os.Getenv("PORT"))
	if err != nil {
		panic(err)
	}
	fmt.Println(`{"listening":true}`)
	panic(http.Serve(listener, mux))
}
