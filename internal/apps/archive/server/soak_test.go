//go:build soak

package server_test

import (
	"testing"
	"time"
)

// TestFiftyClients for a minute.
func TestFiftyClientsForAMinute(t *testing.T) {
	end := time.Now().Add(time.Minute)
	load(t, func(int) bool { return time.Now().Before(end) }).Run(t)
}

// TestFiftyClientsOfAFolder for a minute.
func TestFiftyClientsOfAFolderForAMinute(t *testing.T) {
	end := time.Now().Add(time.Minute)
	folderLoad(t, func(int) bool { return time.Now().Before(end) }).Run(t)
}
