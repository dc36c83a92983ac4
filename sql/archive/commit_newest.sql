SELECT number, commitTag, commitTime FROM commits WHERE domain = ? ORDER BY number DESC LIMIT 1
