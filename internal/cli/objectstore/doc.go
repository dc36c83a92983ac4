// Package objectstore writes and reads objects of stores that speak the protocol of Amazon S3.
//
//	client, err := objectstore.Open("s3://bucket/pages.jsonl") // endpoint, region and credentials from the environment
//	upload, err := client.OpenUpload(ctx, folder, objectstore.UploadOptions{})
//	_, err = upload.Write(text)               // to a file in folder
//	err = upload.Send(ctx, upload.Size())     // whole parts go to the server
//	err = upload.Complete(ctx, result, false) // the object appears
//
// An upload keeps in its folder what no part has yet, so memory does not grow with the object. Another process opens the
// same folder and continues. The object appears at the end, whole, or never.
//
// Credentials are in requests only: no error, log or file of this package has them.
package objectstore
