package command

import (
	"runtime"
	"runtime/debug"
)

// version is set by the linker for a release.
var version = ""

var versionCommand = &command{
	name:    "version",
	summary: "which leslie this is",
	data:    versionData{},
	run:     func(*call) (any, error) { return versionOf(debug.ReadBuildInfo()), nil },
}

type versionData struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

func versionOf(info *debug.BuildInfo, ok bool) versionData {
	data := versionData{Version: version, Go: runtime.Version()}
	if !ok {
		info = &debug.BuildInfo{}
	}
	if data.Version == "" {
		data.Version = info.Main.Version
	}
	if data.Version == "" || data.Version == "(devel)" {
		data.Version = "devel"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			data.Commit = setting.Value
		}
	}
	return data
}
