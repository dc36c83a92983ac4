-- The condition and the order come from package expr, behind WHERE and in front of the last columns.
SELECT url, mimeType, title, path, domain, commitTime, createTime, commitTag, keptFrom, keptCause FROM pages WHERE {condition} ORDER BY {order} number, url LIMIT ?
