// Package api is the REST interface of the daemon: plain JSON over HTTP, described by OpenAPI 3.1 (docs/api.md, docs/openapi.json).
//
//	s := api.New(api.Config{Host: "127.0.0.1", Port: 5581})
//	cfg.Services = append(cfg.Services, s) // of daemon.Config
//
// A request passes, in this order: the bound on connections, the check of Host and Origin, the key and its rate, the scope that the
// operation needs and the sites of the key, the bounds on body and time, and the action. The actions are those of package actions,
// which ask the managers as any client does: this package has HTTP and nothing else.
//
// On loopback no key is needed as long as none was made. Other machines are served with TLS and keys only.
package api
