package errormask

import "testing"

func TestErrorBitsMatchTheTable(t *testing.T) {
	for i, b := range table {
		if b.Bit != i || b.Name == "" || b.Message == "" {
			t.Errorf("bit %d is described as %+v", i, b)
		}
	}
	if Guard != 1<<58 || MaxExecutionTime != 1<<52 || Database != 1<<56 || Robots != 1<<11 || Scraper != 1<<36 {
		t.Error("the constants do not match the table")
	}
}
