-- One row a transfer. Its id is what happens once: that of the event that caused it, or made from
-- the command that did.
CREATE TABLE wallet.transfers (
    transfer_id  uuid PRIMARY KEY,
    -- croupier.wallet.v1.TransferKind
    kind         smallint NOT NULL CHECK (kind BETWEEN 1 AND 8),
    currency     text COLLATE "C" NOT NULL,
    at           timestamptz NOT NULL,
    hand_id      text COLLATE "C" NOT NULL,
    note         text NOT NULL
);
ALTER TABLE wallet.transfers OWNER TO croupier_owner;
