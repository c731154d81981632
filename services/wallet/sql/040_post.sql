-- The one way into the books: accounts that open, transfers, their legs, in one call.
--
-- Arguments are parallel arrays, in three groups: one element an account that opens, one a transfer,
-- one a leg (in the order in which they happen). `happened_at` is the time of all of them. Legs say
-- what the caller takes each account to hold and to count afterwards; where the last word on an
-- account differs from what is found, or its currency from that of the transfer, the caller did not
-- hold the heads it must hold, or decided badly: WL003, nothing is done.
--
-- Errors: unique_violation where a transfer or account is in already, check_violation where a
-- player's money would fall below zero, WL002 where a transfer does not balance, or where only some
-- of the accounts are what they were taken for.
CREATE FUNCTION wallet.post(
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
    moved integer;
BEGIN
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

    SELECT count(DISTINCT l.account) INTO touched FROM unnest(leg_accounts) AS l (account);
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
ALTER FUNCTION wallet.post(
    timestamptz, text[], text[], uuid[], smallint[], text[], text[], text[],
    uuid[], text[], bigint[], bigint[], bigint[]
) OWNER TO croupier_owner;
