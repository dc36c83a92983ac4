package dates

import "testing"

func TestParseISO(t *testing.T) {
	for text, want := range map[string]string{
		"2024-05":                          "2024-05",
		"2024-05-06":                       "2024-05-06",
		"2024-05-06T07:08":                 "2024-05-06T07:08:00",
		"2024-05-06 07:08:09":              "2024-05-06T07:08:09",
		"2024-05-06T07:08:09Z":             "2024-05-06T07:08:09Z",
		"2024-05-06t07:08:09.123456z":      "2024-05-06T07:08:09Z",
		"2024-07-01T23:30:00+09:00":        "2024-07-01T23:30:00+09:00",
		"2024-07-01T23:30:00,5 -0330":      "2024-07-01T23:30:00-03:30",
		"2024-07-01T23:30:00+00:00":        "2024-07-01T23:30:00Z",
		"2024-07-01  23:30 +09":            "2024-07-01T23:30:00+09:00",
		"2024-02-30":                       "",
		"2024-13-01":                       "",
		"2024-00-01":                       "",
		"2024-05-06T":                      "",
		"2024-05-06T25:00":                 "",
		"2024-05-06T07":                    "",
		"2024-05-06T07:08:09+99:00":        "",
		"2024-05-06T07:08:09 EST":          "",
		"2024-05-06x":                      "",
		"2024":                             "",
		"24-05-06":                         "",
		"":                                 "",
		"Mon, 06 May 2024 07:08:09 +0000":  "",
		"2024-05-06T07:08:09.Z":            "",
		"2024-05-06T07:08:09+09:00[Tokyo]": "",
	} {
		got, ok := ParseISO(text)
		if got.String() != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
		if again, ok := ParseISO(got.String()); want != "" && (again != got || !ok) {
			t.Errorf("%q does not read back: %v", got, again)
		}
	}
}

func TestParseISOAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { ParseISO("2024-07-01T23:30:00.123+09:00") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseISO(f *testing.F) {
	for _, s := range []string{"2024-05", "2024-05-06T07:08:09Z", "2024-05-06 07:08:09 +0900", "2024-02-29T23:59:60-12:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := ParseISO(text)
		if again, _ := ParseISO(v.String()); ok && again != v || ok == v.IsZero() {
			t.Errorf("%q: %v, %v, again %v", text, v, ok, again)
		}
	})
}
