package api

import (
	"os"
	"testing"
)

func TestDoc(t *testing.T) {
	text, err := Document("1")
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/x/openapi.json", text, 0o600)
}
