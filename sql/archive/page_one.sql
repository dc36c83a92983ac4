SELECT url, mimeType, title, path, domain, commitTime, createTime, commitTag FROM pages WHERE url = ? AND commitTag = ?
