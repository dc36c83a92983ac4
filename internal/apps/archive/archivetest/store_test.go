package archivetest_test

import (
	"testing"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
)

func TestMemory(t *testing.T) {
	archivetest.Suite(t, func(t *testing.T) (archive.Store, archivetest.Crawler) {
		s := archivetest.New(t)
		return s, s.Crawl
	})
}
