//go:build !linux

package repository

import "syscall"

// syncAll makes everything that was written durable.
func syncAll(string) error {
	syscall.Sync()
	return nil
}
