DELETE FROM commits
