INSERT INTO commits (number, commitTag, domain, commitTime) VALUES (?, ?, ?, ?)
