package prop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type all struct {
	Int     Int     `json:"int"`
	Float   Float   `json:"float"`
	Bool    Bool    `json:"bool"`
	Texts   Texts   `json:"texts"`
	Members Members `json:"members"`
	Plain   struct {
		A string `json:"a"`
	} `json:"plain"`
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"int":5}`:                         "5 0 false [] [] {}",
		`{"int":" -7 "}`:                    "-7 0 false [] [] {}",
		`{"int":3.0}`:                       "3 0 false [] [] {}",
		`{"int":true}`:                      "1 0 false [] [] {}",
		`{"int":""}`:                        "0 0 false [] [] {}",
		`{"int":null}`:                      "0 0 false [] [] {}",
		`{"int":3.5}`:                       "error has 3.5; expected a whole number",
		`{"int":"x"}`:                       `error has "x"; expected a whole number`,
		`{"int":[1]}`:                       "error has [1]; expected a number",
		`{"float":"0.25"}`:                  "0 0.25 false [] [] {}",
		`{"float":1e999}`:                   "error has 1e999; expected a number",
		`{"float":"NaN"}`:                   `error has "NaN"; expected a number`,
		`{"bool":1}`:                        "0 0 true [] [] {}",
		`{"bool":"true"}`:                   "0 0 true [] [] {}",
		`{"bool":"0"}`:                      "0 0 false [] [] {}",
		`{"bool":"maybe"}`:                  `error has "maybe"; expected 0 or 1`,
		`{"texts":"one"}`:                   "0 0 false [one] [] {}",
		`{"texts":["a",2]}`:                 "0 0 false [a 2] [] {}",
		`{"texts":[["a"]]}`:                 `error has ["a"]; expected a text`,
		`{"members":{"b":1,"a":[2],"b":3}}`: "0 0 false [] [{b 1} {a [2]} {b 3}] {}",
		`{"members":[1]}`:                   "error is not a JSON object",
		`{"plain":{"a":5}}`:                 `error has a JSON number at "plain.a"; expected a text`,
		`[]`:                                "error is a JSON array; expected an object",
		`{"int":1} 2`:                       "error has more behind its JSON value",
		`{"int":1`:                          "error is not valid JSON: it ends too early",
		`{"int":}`:                          "error is not valid JSON: invalid character '}' looking for beginning of value at byte 8",
		" ":                                 "error is empty",
	} {
		var v all
		got := "error "
		if err := Decode(text, &v); err != nil {
			got += err.Error()
		} else {
			got = strings.ReplaceAll(fmt.Sprint(v.Int, v.Float, v.Bool, []string(v.Texts)), "[]string", "") + " " + show(v.Members) + " " + fmt.Sprint(v.Plain)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func show(m Members) string {
	list := []string{}
	for _, x := range m {
		list = append(list, "{"+x.Name+" "+string(x.Value)+"}")
	}
	return "[" + strings.Join(list, " ") + "]"
}

func TestErrorsCutLongValues(t *testing.T) {
	raw, _ := json.Marshal(strings.Repeat("é", 200))
	var n Int
	if err := n.UnmarshalJSON(raw); err == nil || len(err.Error()) > 150 {
		t.Error(err)
	}
}
