-- Columns that a database of an earlier program does not have, in the order of their arrival.
SELECT keptFrom, keptCause FROM pages LIMIT 0
