package archivetest_test

import (
	"testing"

	"hce/dc/internal/archive"
	"hce/dc/internal/archive/archivetest"
)

func TestMemory(t *testing.T) {
	archivetest.Suite(t, func(t *testing.T) (archive.Store, archivetest.Crawler) {
		s := archivetest.New(t)
		return s, s.Crawl
	})
}
