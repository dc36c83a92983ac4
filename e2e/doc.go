// Package e2e tests the built programs of bin/ like their users: a daemon on a temporary
// data folder, real sites on loopback addresses, and dc-client and dc-admin.
//
//	make e2e
//
// The build tag e2e is required, because the tests need the programs, wget and the
// documentation packages that scripts/setup.sh installs.
package e2e
