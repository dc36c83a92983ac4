package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"hce/dc/internal/api/events"
	"hce/dc/internal/cli/apikeys"
)

// WebhookInput names a webhook.
type WebhookInput struct {
	Webhook string `path:"webhook" maxLength:"32" doc:"id of the webhook"`
}

// createdWebhook is a webhook with its secret.
type createdWebhook struct {
	events.Webhook
	Secret string `json:"secret" doc:"of the signatures (Standard Webhooks); it is not shown again" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`
}

// addWebhooks registers the operations about webhooks.
func (s *Server) addWebhooks(api huma.API) {
	const path = "/v1/webhooks/{webhook}"
	add(s, api, operation{id: "listWebhooks", method: http.MethodGet, path: "/v1/webhooks", tag: "events", summary: "List the webhooks", scope: apikeys.Admin},
		func(ctx context.Context, _ *struct{}) (*object[list[events.Webhook]], error) {
			if err := s.checkEvents(); err != nil {
				return nil, err
			}
			found, err := s.events.Webhooks(ctx)
			return &object[list[events.Webhook]]{list[events.Webhook]{Items: found}}, err
		})
	add(s, api, operation{
		id: "createWebhook", method: http.MethodPost, path: "/v1/webhooks", tag: "events", summary: "Send events to a server", scope: apikeys.Admin, status: http.StatusCreated,
		errors: []int{http.StatusConflict, http.StatusUnprocessableEntity},
		about: "Each event from now on is sent as a POST request with a signature (Standard Webhooks), one after the other. An answer other than 2xx, and none within 15 seconds, " +
			"is tried again with growing pauses for a day; then the event becomes a dead letter and the next one follows. 410 disables the webhook. Redirects are not followed.",
	}, func(ctx context.Context, in *struct{ Body events.NewWebhook }) (*created[createdWebhook], error) {
		if err := s.beginEvents(); err != nil {
			return nil, err
		}
		h, secret, err := s.events.CreateWebhook(ctx, in.Body)
		return &created[createdWebhook]{"/v1/webhooks/" + h.ID, createdWebhook{h, secret}}, err
	})
	add(s, api, operation{id: "getWebhook", method: http.MethodGet, path: path, tag: "events", summary: "Show a webhook and how far it is", scope: apikeys.Admin, errors: []int{http.StatusNotFound}},
		func(ctx context.Context, in *WebhookInput) (*object[events.Webhook], error) {
			if err := s.checkEvents(); err != nil {
				return nil, err
			}
			h, err := s.events.Webhook(ctx, in.Webhook)
			return &object[events.Webhook]{h}, err
		})
	add(s, api, operation{
		id: "deleteWebhook", method: http.MethodDelete, path: path, tag: "events", summary: "Delete a webhook with its dead letters", scope: apikeys.Admin, errors: []int{http.StatusNotFound},
	}, func(ctx context.Context, in *WebhookInput) (*struct{}, error) {
		if err := s.checkEvents(); err != nil {
			return nil, err
		}
		return nil, s.events.DeleteWebhook(ctx, in.Webhook)
	})
	add(s, api, operation{
		id: "listDeadLetters", method: http.MethodGet, path: path + "/dead", tag: "events", summary: "List the events that a webhook did not get", scope: apikeys.Admin,
		errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}, about: "Ordered by number. At most 10,000 are kept. A later delivery removes its letter.",
	}, s.listDeadLetters)
	add(s, api, operation{
		id: "replayWebhook", method: http.MethodPost, path: path + "/replay", tag: "events", summary: "Send events again from a number on", scope: apikeys.Admin,
		errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity},
		about:  "Messages that are sent again have the id of the first time. A disabled webhook is enabled. Events that are not kept any more are left out; position in the answer tells.",
	}, func(ctx context.Context, in *struct {
		WebhookInput
		Body struct {
			From int64 `json:"from" minimum:"0" doc:"number of the first event; 0: the oldest one that is kept"`
		}
	}) (*object[events.Webhook], error) {
		if err := s.checkEvents(); err != nil {
			return nil, err
		}
		h, err := s.events.Replay(ctx, in.Webhook, in.Body.From)
		return &object[events.Webhook]{h}, err
	})
}

// listDeadLetters lists the dead letters of a webhook.
func (s *Server) listDeadLetters(ctx context.Context, in *struct {
	WebhookInput
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"most letters of the answer"`
	Cursor int64 `query:"cursor" minimum:"0" doc:"next of the answer before; without it the list begins"`
}) (*object[list[events.DeadLetter]], error) {
	if err := s.checkEvents(); err != nil {
		return nil, err
	}
	found, err := s.events.DeadLetters(ctx, in.Webhook, in.Cursor, in.Limit)
	part := list[events.DeadLetter]{Items: found}
	if len(found) == in.Limit {
		part.Next = strconv.FormatInt(found[len(found)-1].Event.ID, 10)
	}
	return &object[list[events.DeadLetter]]{part}, err
}
