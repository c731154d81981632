-- What a player staked on a wager of a box, and what came back (null: the hand is not over). A voided hand
-- gives back every stake.
CREATE TABLE audit.bet (
    hand_id         text COLLATE "C" NOT NULL,
    box             integer NOT NULL,
    player          text COLLATE "C" NOT NULL,
    wager           text COLLATE "C" NOT NULL,
    stake_minor     bigint NOT NULL,
    returned_minor  bigint,
    PRIMARY KEY (hand_id, box, player, wager)
);
ALTER TABLE audit.bet OWNER TO croupier_owner;
GRANT SELECT, INSERT, UPDATE ON audit.bet TO croupier_audit;
