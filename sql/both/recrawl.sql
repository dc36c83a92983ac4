-- Recrawling of sites (docs/spec/daemon.md 2.14). The lock is no state (docs/spec/DECISIONS.md 3.6).

-- name: recrawl_lock
-- Takes a site, unless somebody has it already.
UPDATE {dc_sites.sites} SET RecrawlLock = 1, Iterations = Iterations + 1, TcDate = ?, UDate = ? WHERE Id = ? AND RecrawlLock = 0;

-- name: recrawl_unlock
UPDATE {dc_sites.sites} SET RecrawlLock = 0, TcDate = ? WHERE Id = ?;

-- name: recrawl_site
-- What the steps behind the lock need.
SELECT RecrawlPeriod, RecrawlDate, UDate, NewURLs, Resources FROM {dc_sites.sites} WHERE Id = ?;

-- name: recrawl_period
-- A tuned period, unless somebody gave the site another one meanwhile.
UPDATE {dc_sites.sites} SET RecrawlPeriod = ? WHERE Id = ? AND RecrawlPeriod = ?;

-- name: recrawl_locked
SELECT Id FROM {dc_sites.sites} WHERE RecrawlLock <> 0 ORDER BY Id;

-- name: recrawl_refused
-- The site has properties that cannot be followed.
UPDATE {dc_sites.sites} SET ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ? WHERE Id = ?;
