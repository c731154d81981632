-- Money is neither made nor lost, by any statement, whoever runs it. SQLSTATE WL002.
--
-- The legs of a transfer come in one statement, and what that statement brings of each must sum to
-- zero. Accounts begin empty, and one statement may only move money between them. So the sum of all
-- accounts of a currency is zero after every statement, and with that at every commit.
CREATE FUNCTION wallet.refuse_unbalanced_transfers() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    SELECT transfer_id, sum(amount) AS amount INTO wrong
      FROM fresh GROUP BY transfer_id HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'transfer % is out of balance by %', wrong.transfer_id, wrong.amount
            USING ERRCODE = 'WL002';
    END IF;
    RETURN NULL;
END
$$;
ALTER FUNCTION wallet.refuse_unbalanced_transfers() OWNER TO croupier_owner;

CREATE TRIGGER balanced AFTER INSERT ON wallet.postings
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION wallet.refuse_unbalanced_transfers();
ALTER TABLE wallet.postings ENABLE ALWAYS TRIGGER balanced;

CREATE FUNCTION wallet.refuse_made_money() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    wrong record;
BEGIN
    SELECT currency, sum(amount) AS amount INTO wrong
      FROM (SELECT currency, balance AS amount FROM after
            UNION ALL
            SELECT currency, -balance FROM before) AS moved
     GROUP BY currency HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION '% % would come from nowhere', wrong.amount, wrong.currency
            USING ERRCODE = 'WL002';
    END IF;
    RETURN NULL;
END
$$;
ALTER FUNCTION wallet.refuse_made_money() OWNER TO croupier_owner;

CREATE TRIGGER no_money_made AFTER UPDATE ON wallet.accounts
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION wallet.refuse_made_money();
ALTER TABLE wallet.accounts ENABLE ALWAYS TRIGGER no_money_made;

CREATE TRIGGER accounts_begin_empty BEFORE INSERT ON wallet.accounts
    FOR EACH ROW WHEN (new.balance <> 0 OR new.postings <> 0)
    EXECUTE FUNCTION wallet.refuse_change();
ALTER TABLE wallet.accounts ENABLE ALWAYS TRIGGER accounts_begin_empty;
