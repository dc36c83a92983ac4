package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/minio/minio-go/v7"
)

// Codes of errors before any request.
const (
	noCredentials = "NoCredentials"
	badEndpoint   = "BadEndpoint"
)

// Error is a request that failed. Its text has no credentials.
type Error struct {
	Op       string // verb
	Address  Address
	Endpoint string
	Code     string // of the server; "" if it gave none
	Err      error  // nil: Code says all
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch e.Code {
	case badEndpoint:
		return fmt.Sprintf("%s: %v", e.Address, e.Err)
	case noCredentials:
		return fmt.Sprintf("%s: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile of ~/.aws/credentials with AWS_PROFILE", e.Address)
	case minio.NoSuchBucket:
		return fmt.Sprintf("%s: the bucket %s does not exist at %s; create it first", e.Address, e.Address.Bucket, e.Endpoint)
	case minio.NoSuchKey:
		return fmt.Sprintf("%s does not exist at %s", e.Address, e.Endpoint)
	}
	if e.refusesCredentials() {
		return fmt.Sprintf("%s %s: %s refuses the credentials or what they may do (%s); check AWS_ACCESS_KEY_ID, AWS_PROFILE and the policy of the bucket", e.Op, e.Address, e.Endpoint, e.Code)
	}
	switch e.Code {
	case minio.PreconditionFailed:
		return fmt.Sprintf("%s %s: another program has changed it meanwhile", e.Op, e.Address)
	case "":
		return fmt.Sprintf("%s %s at %s: %v", e.Op, e.Address, e.Endpoint, e.Err)
	}
	return fmt.Sprintf("%s %s at %s: %s: %v", e.Op, e.Address, e.Endpoint, e.Code, e.Err)
}

// IsRefusal reports whether a person has to change something before the same request can succeed.
func (e *Error) IsRefusal() bool {
	switch e.Code {
	case noCredentials, badEndpoint, minio.NoSuchBucket, minio.NoSuchKey:
		return true
	}
	return e.refusesCredentials()
}

// refusesCredentials reports whether the server knows no such user, or does not let it do this.
func (e *Error) refusesCredentials() bool {
	switch e.Code {
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", minio.AccessDenied, "ExpiredToken", "InvalidToken":
		return true
	}
	return e.Code == "XAdminUserNotFound" // versitygw
}

// explain makes the error of a request one for a person. Addresses of requests, which have more than the object, are left out.
func (c *Client) explain(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	result := &Error{Op: op, Address: c.address, Endpoint: c.endpoint, Err: err}
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		result.Code, result.Err = answer.Code, errors.New(answer.Message)
	}
	var request *url.Error
	if errors.As(err, &request) {
		result.Err = fmt.Errorf("cannot reach it: %w", request.Err)
	}
	return result
}
