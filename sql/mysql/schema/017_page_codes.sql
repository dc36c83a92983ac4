-- Not in the specification: servers and proxies send whole pages with 201, 203, 300 and the like, too
-- (wire.PageCodes).

UPDATE {dc_sites.sites_filters}
SET Pattern = REPLACE(Pattern, ' AND %HTTPCODE%=200', ' AND %HTTPCODE% BETWEEN 200 AND 300 AND %HTTPCODE% NOT IN (204,205,206)')
WHERE OperationCode = 7 AND Stage = 7 AND Pattern = '%TYPE%<>6 AND %STATUS%=4 AND %STATE%=0 AND %CRAWLED%>0 AND %SIZE%>0 AND (%ERRORMASK% & 4198399)=0 AND %CONTENTTYPE% IN (''text/html'', ''text/xml'', ''application/rss+xml'', ''text/json'') AND %HTTPCODE%=200';
