package client

import (
	"encoding/json"
	"testing"
)

func TestText(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"sorted, indent 4": {`{"b":[1,{"z":null,"a":true}],"a":{}}`, "{\n    \"a\": {},\n    \"b\": [\n        1,\n        {\n            \"a\": true,\n            \"z\": null\n        }\n    ]\n}"},
		"beyond ASCII":     {`"ü€"`, `"\u00fc\u20ac"`},
		"beyond 16 bits":   {`"😀"`, `"\ud83d\ude00"`},
		"escaped already":  {`"\u00fc\ud83d\ude00"`, `"\u00fc\ud83d\ude00"`},
		"half a surrogate": {`"\ud83d"`, `"\ufffd"`},
		"key":              {`{"ä":1}`, "{\n    \"\\u00e4\": 1\n}"},
		"HTML":             {`"<a href='x'>&</a>"`, `"<a href='x'>&</a>"`},
		"controls":         {`"\u0000\n\t\u2028"`, `"\u0000\n\t\u2028"`},
		"numbers stay":     {`[18446744073709551615,9007199254740993,1.50,-0,1e400]`, "[\n    18446744073709551615,\n    9007199254740993,\n    1.50,\n    -0,\n    1e400\n]"},
		"empty list":       {`[]`, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Text(json.RawMessage(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
	for name, v := range map[string]any{"not a JSON type": make(chan int), "broken": json.RawMessage(`{"a":`)} {
		if got, err := Text(v); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}
