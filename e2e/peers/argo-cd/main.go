// Command argo-cd says of each request on stdin (JSON, one a line) what Argo CD's engine makes of an object: its health,
// by a health script where one is given, and whether it differs from what Git holds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/health"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	luajson "layeh.com/gopher-json"
)

type request struct {
	// Live is the object of the cluster.
	Live map[string]any `json:"live"`
	// Git is the manifest; without it no difference is looked for.
	Git map[string]any `json:"git"`
	// Script is a health script of argocd-cm; without it the engine's own rules apply.
	Script string `json:"script"`
}

type answer struct {
	Health  *health.HealthStatus `json:"health"`
	Differs *bool                `json:"differs,omitempty"`
	// Predicted and Normalized are both sides of the difference.
	Predicted  json.RawMessage `json:"predicted,omitempty"`
	Normalized json.RawMessage `json:"normalized,omitempty"`
	Error      string          `json:"error,omitempty"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var text json.RawMessage
		if err := in.Decode(&text); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		said, err := judge(text)
		if err != nil {
			said.Error = err.Error()
		}
		if err := out.Encode(said); err != nil {
			log.Fatal(err)
		}
	}
}

func judge(text []byte) (answer, error) {
	var asked request
	// Unlike encoding/json, utiljson decodes whole numbers as integers.
	if err := utiljson.Unmarshal(text, &asked); err != nil {
		return answer{}, err
	}
	live := &unstructured.Unstructured{Object: asked.Live}
	var override health.HealthOverride
	if asked.Script != "" {
		override = script(asked.Script)
	}
	found, err := health.GetResourceHealth(live, override)
	if err != nil || asked.Git == nil {
		return answer{Health: found}, err
	}
	result, err := diff.Diff(&unstructured.Unstructured{Object: asked.Git}, live)
	if err != nil {
		return answer{Health: found}, err
	}
	return answer{
		Health:     found,
		Differs:    &result.Modified,
		Predicted:  result.PredictedLive,
		Normalized: result.NormalizedLive,
	}, nil
}

// script is a health script, run as Argo CD runs one: gopher-lua without its libraries for files and processes, the
// object in the global `obj`, a table as the answer, one second of time.
type script string

func (source script) GetResourceHealth(object *unstructured.Unstructured) (*health.HealthStatus, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName:   lua.OpenPackage,
		lua.BaseLibName:   lua.OpenBase,
		lua.TabLibName:    lua.OpenTable,
		lua.StringLibName: lua.OpenString,
	} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	// Through JSON text, as in Argo CD: luajson.DecodeValue, given the object itself, would leave out its integers.
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	value, err := luajson.Decode(state, text)
	if err != nil {
		return nil, err
	}
	state.SetGlobal("obj", value)
	if err := state.DoString(string(source)); err != nil {
		return nil, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type())
	}
	encoded, err := luajson.Encode(table)
	if err != nil {
		return nil, err
	}
	found := &health.HealthStatus{}
	return found, json.Unmarshal(encoded, found)
}
