-- name: site_touch_leased
-- site_touch on a node of a cluster. The lease is wanted when more than half of it is used, and at its
-- end, unless the cluster has nothing more of that kind.
UPDATE {dc_sites.sites} SET TcDate = ?, ErrorMask = ErrorMask | ?, SiteMask = SiteMask | ?, LeaseWanted = CASE
  WHEN MaxURLs > LeaseURLs AND 2 * OwnURLs > LeaseURLs AND (LeaseFinal & 1) = 0 THEN 1
  WHEN MaxResources > LeaseResources AND 2 * (Resources + InFlight + InProcess) > LeaseResources AND (LeaseFinal & 2) = 0 THEN 1
  WHEN MaxResources > 0 AND Resources + InFlight + InProcess >= LeaseResources AND (LeaseFinal & 2) = 0 THEN 1
  WHEN MaxErrors > LeaseErrors AND 2 * Errors > LeaseErrors AND (LeaseFinal & 4) = 0 THEN 1
  WHEN MaxErrors > 0 AND Errors > LeaseErrors AND (LeaseFinal & 4) = 0 THEN 1
  ELSE LeaseWanted END WHERE Id = ?;

-- name: lease_want
UPDATE {dc_sites.sites} SET LeaseWanted = 1 WHERE Id = ? AND (MaxURLs > 0 OR MaxResources > 0 OR MaxErrors > 0);

-- name: lease_shrink
-- Gives back what is not used, and asks again: the limits or the state have changed, or rows have left.
UPDATE {dc_sites.sites} SET
  LeaseURLs = CASE WHEN LeaseURLs > OwnURLs THEN OwnURLs ELSE LeaseURLs END,
  LeaseResources = CASE WHEN LeaseResources > Resources + InFlight + InProcess THEN Resources + InFlight + InProcess ELSE LeaseResources END,
  LeaseErrors = CASE WHEN LeaseErrors > Errors THEN Errors ELSE LeaseErrors END,
  LeaseFinal = 0,
  LeaseWanted = CASE WHEN MaxURLs > 0 OR MaxResources > 0 OR MaxErrors > 0 OR LeaseSeq > 0 THEN 1 ELSE LeaseWanted END
WHERE Id = ?;

-- name: leases_wanted
SELECT Id FROM {dc_sites.sites} WHERE LeaseWanted = 1 AND Id > ? ORDER BY Id LIMIT ?;

-- name: leases_active
SELECT Id FROM {dc_sites.sites} WHERE LeaseSeq > 0 AND State = 1 AND Id > ? ORDER BY Id LIMIT ?;

-- name: lease
SELECT State, NewURLs, MaxURLs, MaxResources, MaxErrors, OwnURLs, Resources, InFlight + InProcess, Errors,
  LeaseSeq, LeaseURLs, LeaseResources, LeaseErrors, LeaseFinal, LeaseUntil
FROM {dc_sites.sites} WHERE Id = ?;

-- name: lease_set
UPDATE {dc_sites.sites} SET LeaseSeq = ?, LeaseURLs = ?, LeaseResources = ?, LeaseErrors = ?, LeaseFinal = ?, LeaseUntil = ? WHERE Id = ?;

-- name: lease_wanted_set
UPDATE {dc_sites.sites} SET LeaseWanted = ? WHERE Id = ? AND LeaseWanted <> ?;

-- name: links_held_any
SELECT 1 FROM {dc_sites.links_held} WHERE Site_Id = ? LIMIT 1;

-- name: links_held_count
SELECT COUNT(*) FROM {dc_sites.links_held} WHERE Site_Id = ?;

-- name: links_held_page
SELECT Id, Link FROM {dc_sites.links_held} WHERE Site_Id = ? ORDER BY Id LIMIT ?;

-- name: links_held_delete
DELETE FROM {dc_sites.links_held} WHERE Site_Id = ?;
