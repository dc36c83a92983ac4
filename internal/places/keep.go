package places

import (
	"context"
	"net"
	"net/http"
)

// placeKey is the key of the Conn in the context of a request.
type placeKey struct{}

// Serve answers the connections of l by s until s is shut down. isHealth, if not nil, chooses the requests that keep
// places of their own: when no other place is free, s answers them, and others by 503 and the end of the connection.
func (l *Listener) Serve(s *http.Server, isHealth func(r *http.Request) bool) error {
	return l.ServeOn(l, s, isHealth)
}

// ServeOn is Serve for a listener that has the connections of l, such as one with TLS.
func (l *Listener) ServeOn(on net.Listener, s *http.Server, isHealth func(r *http.Request) bool) error {
	Follow(s)
	before, handler := s.ConnContext, s.Handler
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return context.WithValue(ctx, placeKey{}, Of(c))
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, _ := r.Context().Value(placeKey{}).(*Conn); c != nil && c.isSpare() {
			w.Header().Set("Connection", "close")
			if isHealth == nil || !isHealth(r) {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "all connections are in use; try again later", http.StatusServiceUnavailable)
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
	return s.Serve(on)
}
