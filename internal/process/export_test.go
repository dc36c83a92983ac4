package process

import (
	"math/bits"
	"os"
	"strings"
	"time"

	"hce/dc/internal/process/scraper"
)

var eaten [][]byte

// burn never ends.
func burn() {
	for n := uint64(1); bits.OnesCount64(n) <= 64; n++ {
	}
}

// RunIfTestWorker is RunIfWorker, with pages that misbehave: their text is one of the words
// below.
func RunIfTestWorker() {
	if !isWorker() {
		return
	}
	os.Exit(extractPages(os.Stdin, os.Stdout, func(p *scraper.Page, rules *scraper.Rules) scraper.Output {
		word, file, _ := strings.Cut(string(p.Text), " ")
		switch word {
		case "burn":
			burn()
		case "burn-once":
			if os.Mkdir(file, 0o700) == nil {
				burn()
			}
		case "eat":
			for {
				eaten = append(eaten, []byte(strings.Repeat("x", 1<<20)))
			}
		case "wait":
			time.Sleep(time.Hour)
		case "die":
			os.Exit(3)
		case "crash":
			panic("a library fails")
		case "die-once":
			if os.Mkdir(file, 0o700) == nil {
				os.Exit(3)
			}
		case "until":
			for {
				if _, err := os.Stat(file); err == nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		return scraper.Scrape(p, rules)
	}, func(text string) (string, error) { return text, nil }))
}
