SELECT url, mimeType, title, path, domain, commitTime, createTime, commitTag, keptFrom, keptCause FROM pages WHERE url = ? AND commitTag = ?
