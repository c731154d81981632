-- As in 032_balanced.sql, for an account, too, that holds the least that 64 bits hold, and whose
-- negative is more than they do: no transfer could touch it any more.
CREATE OR REPLACE FUNCTION wallet.refuse_made_money() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    SELECT currency, sum(amount) AS amount INTO wrong
      FROM (SELECT currency, balance::numeric AS amount FROM after
            UNION ALL
            SELECT currency, -(balance::numeric) FROM before) AS moved
     GROUP BY currency HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% % would come from nowhere', wrong.amount, wrong.currency
            USING ERRCODE = 'WL002';
    END IF;
    RETURN NULL;
END
$$;
