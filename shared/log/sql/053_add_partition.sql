-- Adds the next partition of a category and gives its name; only streams that begin afterwards go
-- there. For the owner (an administrator). It waits for the appends that are running: two writers
-- must never disagree about where a new stream belongs.
CREATE FUNCTION log.add_partition(category_name text) RETURNS text
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    next_number integer;
    new_name text;
BEGIN
    LOCK TABLE log.partitions IN EXCLUSIVE MODE;
    SELECT coalesce(max(p.number) + 1, 0) INTO next_number
      FROM log.partitions AS p WHERE p.category = category_name;
    new_name := category_name || '.' || next_number;
    INSERT INTO log.partitions (name, category, number, head)
    VALUES (new_name, category_name, next_number,
            sha256(convert_to('croupier.partition.v1', 'UTF8') || int4send(octet_length(new_name))
                   || convert_to(new_name, 'UTF8')));
    RETURN new_name;
END
$$;
ALTER FUNCTION log.add_partition(text) OWNER TO croupier_owner;
