package browser

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"hce/dc/internal/wire/prop"
)

// runScript runs JavaScript in the page's own world and returns its result as JSON, empty if
// it has none. A text with a "return" outside of functions is run as the body of a
// function, as old drivers did.
func (v *visit) runScript(ctx context.Context, text string) (json.RawMessage, error) {
	value, err := v.evaluateScript(ctx, text, 0)
	var thrown *scriptError
	if errors.As(err, &thrown) && strings.Contains(thrown.text, "Illegal return statement") {
		// A syntax error: nothing of the script has run.
		return v.evaluateScript(ctx, "(async function () {\n"+text+"\n})()", 0)
	}
	return value, err
}

// scriptError is an exception of a script.
type scriptError struct{ text string }

func (e *scriptError) Error() string { return "script failed: " + prop.Clip(e.text) }

func (v *visit) evaluateScript(ctx context.Context, text string, world runtime.ExecutionContextID) (json.RawMessage, error) {
	on := true
	result, err := cdp.Call(ctx, v.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: text, ContextID: world, ReturnByValue: &on, AwaitPromise: &on, UserGesture: &on})
	switch {
	case err != nil:
		return nil, err
	case result.ExceptionDetails != nil:
		thrown := result.ExceptionDetails.Text
		if e := result.ExceptionDetails.Exception; e != nil && e.Description != "" {
			thrown = e.Description
		}
		return nil, &scriptError{thrown}
	case result.Result == nil:
		return nil, nil
	}
	return json.RawMessage(result.Result.Value), nil
}
