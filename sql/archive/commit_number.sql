SELECT number, commitTag, commitTime FROM commits WHERE number = ?
