-- A transfer has the legs that it was posted with, for ever: `wallet.post` takes legs of transfers
-- that come in the same call only. Otherwise as in 040_post.sql, and WL003 where a leg belongs to
-- another transfer.
CREATE OR REPLACE FUNCTION wallet.post(
    happened_at timestamptz,
    account_names text[], account_currencies text[],
    transfer_ids uuid[], kinds smallint[], transfer_currencies text[], hand_ids text[], notes text[],
    leg_transfers uuid[], leg_accounts text[], leg_amounts bigint[], leg_balances bigint[],
    leg_sequences bigint[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- The accounts are found by key whatever their statistics said when the plan was made.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    touched integer;
    strays integer;
    moved integer;
BEGIN
    SELECT count(DISTINCT l.account), count(*) FILTER (WHERE t.id IS NULL) INTO touched, strays
      FROM unnest(leg_transfers, leg_accounts) AS l (transfer_id, account)
      LEFT JOIN unnest(transfer_ids) AS t (id) ON t.id = l.transfer_id;
    IF strays > 0 THEN
        RAISE EXCEPTION '% legs are of transfers that do not come with them', strays
            USING ERRCODE = 'WL003';
    END IF;

    INSERT INTO wallet.accounts (account, currency, balance, postings, opened_at)
    SELECT opened.account, opened.currency, 0, 0, happened_at
      FROM unnest(account_names, account_currencies) AS opened (account, currency);

    INSERT INTO wallet.transfers (transfer_id, kind, currency, at, hand_id, note)
    SELECT t.id, t.kind, t.currency, happened_at, t.hand_id, t.note
      FROM unnest(transfer_ids, kinds, transfer_currencies, hand_ids, notes)
        AS t (id, kind, currency, hand_id, note);

    INSERT INTO wallet.postings (account, sequence, transfer_id, amount, balance_after)
    SELECT l.account, l.sequence, l.transfer_id, l.amount, l.balance_after
      FROM unnest(leg_transfers, leg_accounts, leg_amounts, leg_balances, leg_sequences)
        AS l (transfer_id, account, amount, balance_after, sequence);

    UPDATE wallet.accounts AS a
       SET balance = m.balance, postings = m.postings
      FROM (SELECT l.account, t.currency, sum(l.amount) AS amount, count(*) AS count,
                   max(l.sequence) AS postings,
                   (array_agg(l.balance_after ORDER BY l.sequence DESC))[1] AS balance
              FROM unnest(leg_transfers, leg_accounts, leg_amounts, leg_balances, leg_sequences)
                AS l (transfer_id, account, amount, balance_after, sequence)
              JOIN unnest(transfer_ids, transfer_currencies) AS t (id, currency)
                ON t.id = l.transfer_id
             GROUP BY l.account, t.currency) AS m
     WHERE a.account = m.account AND a.currency = m.currency
       AND a.balance + m.amount = m.balance AND a.postings + m.count = m.postings;
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> touched THEN
        RAISE EXCEPTION '% of % accounts are not what they were taken for', touched - moved, touched
            USING ERRCODE = 'WL003';
    END IF;
END
$$;
