SELECT number, commitTag, commitTime FROM commits WHERE number > ? ORDER BY number LIMIT ?
