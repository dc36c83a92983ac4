// Package placestest occupies the places of a port in tests.
//
//	placestest.Fill(t, server.Addr(), 500)
//	// another client gets its answer nevertheless
package placestest

import (
	"net"
	"testing"
)

// Fill opens n connections to a TCP address that send nothing, and every second one the beginning of a request.
// They stay open until the end of the test, unless the server closes them.
func Fill(t testing.TB, address string, n int) {
	t.Helper()
	for i := range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if i%2 == 0 {
			_, _ = c.Write([]byte("GET / HTT")) // the server may have closed it
		}
	}
}
