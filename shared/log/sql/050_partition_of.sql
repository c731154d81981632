-- Where a stream lives, or would live if its first event came now: the first 32 bits of SHA-256 of
-- its name, modulo the number of partitions that its category has. Null if the category has none.
CREATE FUNCTION log.partition_of(stream_name text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(
        (SELECT s.partition FROM log.streams AS s WHERE s.stream = stream_name),
        (SELECT names[1 + ('x' || encode(substr(sha256(convert_to(stream_name, 'UTF8')), 1, 4), 'hex'))
                            ::bit(32)::bigint % cardinality(names)]
           FROM (SELECT array_agg(p.name ORDER BY p.number) AS names
                   FROM log.partitions AS p
                  WHERE p.category = split_part(stream_name, '/', 1)) AS all_of_them)
    )
$$;
ALTER FUNCTION log.partition_of(text) OWNER TO croupier_owner;
