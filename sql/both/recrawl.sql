-- Recrawling of sites (docs/spec/daemon.md 2.14). The lock is separate from State
-- (docs/spec/DECISIONS.md 3.6).

-- name: recrawl_lock
-- Locks a site unless it is locked.
UPDATE {dc_sites.sites} SET RecrawlLock = 1, Iterations = Iterations + 1, TcDate = ?, UDate = ? WHERE Id = ? AND RecrawlLock = 0;

-- name: recrawl_unlock
UPDATE {dc_sites.sites} SET RecrawlLock = 0, TcDate = ? WHERE Id = ?;

-- name: recrawl_site
-- The columns that a locked recrawl needs.
SELECT RecrawlPeriod, COALESCE(RecrawlDate, ''), COALESCE(UDate, ''), NewURLs, Resources FROM {dc_sites.sites} WHERE Id = ?;

-- name: recrawl_period
-- Stores a tuned period unless the period has changed meanwhile.
UPDATE {dc_sites.sites} SET RecrawlPeriod = ? WHERE Id = ? AND RecrawlPeriod = ?;

-- name: recrawl_locked
SELECT Id FROM {dc_sites.sites} WHERE RecrawlLock <> 0 ORDER BY Id;

-- name: recrawl_refused
-- Marks a site with invalid properties.
UPDATE {dc_sites.sites} SET ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ? WHERE Id = ?;
