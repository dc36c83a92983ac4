INSERT INTO pages (number, url, mimeType, title, path, domain, commitTime, createTime, commitTag, keptFrom, keptCause) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
