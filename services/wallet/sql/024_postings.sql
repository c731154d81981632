-- The legs of the transfers: one an account in each. `sequence` counts an account's postings from 1,
-- `balance_after` is what it held after this one.
CREATE TABLE wallet.postings (
    account        text COLLATE "C" NOT NULL,
    sequence       bigint NOT NULL CHECK (sequence > 0),
    transfer_id    uuid NOT NULL,
    amount         bigint NOT NULL CHECK (amount <> 0),
    balance_after  bigint NOT NULL,
    PRIMARY KEY (account, sequence),
    UNIQUE (transfer_id, account),
    CHECK (balance_after >= 0 OR wallet.may_owe(account))
);
ALTER TABLE wallet.postings OWNER TO croupier_owner;
