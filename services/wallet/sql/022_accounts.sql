-- The accounts as they are. Neither `balance` nor `postings` is in an index, so that a transfer moves
-- them in place (HOT).
CREATE TABLE wallet.accounts (
    account    text COLLATE "C" PRIMARY KEY CHECK (account ~
        '^((player|table-pot|house|commission|cashier)|table/[A-Za-z0-9_-]{1,64})/[A-Za-z0-9_-]{1,64}$'),
    currency   text COLLATE "C" NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    balance    bigint NOT NULL,
    postings   bigint NOT NULL CHECK (postings >= 0),
    opened_at  timestamptz NOT NULL,
    CHECK (balance >= 0 OR wallet.may_owe(account))
) WITH (fillfactor = 70);
ALTER TABLE wallet.accounts OWNER TO croupier_owner;
COMMENT ON COLUMN wallet.accounts.postings IS 'how many postings the account has';

-- The chips of one player, table by table.
CREATE INDEX accounts_escrow ON wallet.accounts (split_part(account, '/', 3), account)
    WHERE account ^@ 'table/';
