package childprocess

import (
	"fmt"
	"net"
	"testing"
)

// A reserved port is given to nobody else, but a program can listen on it.
func TestFreePorts(t *testing.T) {
	ports, release, err := FreePorts(2)
	if err != nil || len(ports) != 2 || ports[0] == ports[1] {
		t.Fatalf("ports %v, %v", ports, err)
	}
	child, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		if c, err := claimPort(port); err == nil {
			c.Close()
			t.Errorf("port %d is reserved twice", port)
		}
	}
	release()
	if c, err := claimPort(ports[0]); err == nil {
		c.Close()
		t.Error("a port on which a program listens is reserved")
	}
	child.Close()
	c, err := claimPort(ports[0])
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	c.Close()
}
