// Package e2e runs the built programs of bin/ as their users do: a daemon on a
// fresh data folder, real sites on loopback, dc-client and dc-admin beside it.
//
//	make e2e
//
// The tests stand behind the build tag e2e, as they need the programs, wget and
// the documentation packages that scripts/setup.sh brings.
package e2e
