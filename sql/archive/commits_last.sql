SELECT COALESCE(MAX(number), 0), COUNT(*) FROM commits
