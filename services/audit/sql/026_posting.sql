-- One row a leg of a transfer, as the wallet's log has it.
CREATE TABLE audit.posting (
    stream       text COLLATE "C" NOT NULL,
    version      bigint NOT NULL,
    leg          integer NOT NULL,
    transfer_id  uuid NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    account      text COLLATE "C" NOT NULL,
    currency     text COLLATE "C" NOT NULL,
    amount_minor bigint NOT NULL,
    hand_id      text COLLATE "C",
    note         text NOT NULL,
    posted_at    timestamptz NOT NULL,
    PRIMARY KEY (stream, version, leg)
);
ALTER TABLE audit.posting OWNER TO croupier_owner;
CREATE INDEX posting_hand ON audit.posting (hand_id) WHERE hand_id IS NOT NULL;
CREATE INDEX posting_account ON audit.posting (account, posted_at);
GRANT SELECT, INSERT ON audit.posting TO croupier_audit;
