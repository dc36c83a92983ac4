package server

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hce/dc/internal/apps/archive/archivetest"
)

// Accepted connections have the limit of their listener.
func TestLostClients(t *testing.T) {
	s, err := Listen(Config{Store: archivetest.New(t), Patience: 7 * time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.listener.Close()
	client, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := s.tcp.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if ms, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err != nil || ms != 7000 {
			t.Errorf("%d ms, %v", ms, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
