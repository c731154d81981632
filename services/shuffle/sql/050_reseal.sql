-- Seals a seed again, under a newer key: the only way in which a stored seed changes, and only if it is
-- still the one that the caller has read. An update, so that a retirement that removes the row meanwhile
-- removes it all the same.
CREATE FUNCTION shuffle.reseal(
    of_shoe text, read_nonce bytea, new_key_id text, new_nonce bytea, new_ciphertext bytea
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    WITH changed AS (
        UPDATE shuffle.seeds
           SET key_id = new_key_id, nonce = new_nonce, ciphertext = new_ciphertext
         WHERE shoe_id = of_shoe AND nonce = read_nonce
     RETURNING true
    )
    SELECT EXISTS (SELECT FROM changed)
$$;
ALTER FUNCTION shuffle.reseal OWNER TO croupier_owner;
REVOKE ALL ON FUNCTION shuffle.reseal FROM PUBLIC;
GRANT EXECUTE ON FUNCTION shuffle.reseal TO croupier_shuffle;
