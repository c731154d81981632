-- For people with psql. Amounts are whole minor units of the table's currency. The views run with the rights
-- of their owner; the auditor's role can read them and nothing else.
CREATE VIEW audit.tables AS
SELECT table_id, name, game, rules_version, rules, currency, opened_at, closed_at
  FROM audit.game_table;

CREATE VIEW audit.hands AS
SELECT h.hand_id, h.table_id, t.name AS table_name, h.number, h.game, h.rules_version, h.shoe_id, h.players,
       h.opened_at, h.ended_at, h.result, h.voided, h.void_reason, t.currency,
       h.staked_minor, h.returned_minor, h.staked_minor - h.returned_minor AS house_minor,
       h.pot_change_minor, h.rake_minor
  FROM audit.hand AS h JOIN audit.game_table AS t USING (table_id);

CREATE VIEW audit.bets AS
SELECT b.hand_id, h.table_id, h.game, h.opened_at, b.box, b.player, b.wager, t.currency,
       b.stake_minor, b.returned_minor, b.returned_minor - b.stake_minor AS net_minor
  FROM audit.bet AS b JOIN audit.hand AS h USING (hand_id) JOIN audit.game_table AS t USING (table_id);

CREATE VIEW audit.cards AS
SELECT c.hand_id, substr(c.stream, 7) AS table_id, s.shoe_id, c.position, c.hand, c.face, c.viewer, c.card,
       c.dealt_at, c.stream, c.version, c.ordinal
  FROM audit.card AS c
  LEFT JOIN LATERAL (
        SELECT r.shoe_id FROM audit.shoe_ready AS r
         WHERE r.stream = c.stream AND r.version < c.version ORDER BY r.version DESC LIMIT 1
  ) AS s ON true;

CREATE VIEW audit.decisions AS
SELECT d.hand_id, h.table_id, h.game, d.box, d.player, d.action, d.amount_minor, d.positions, d.defaulted,
       d.decided_at, d.stream, d.version
  FROM audit.decision AS d JOIN audit.hand AS h USING (hand_id);

CREATE VIEW audit.postings AS
SELECT transfer_id, kind, account, currency, amount_minor, hand_id, note, posted_at, stream, version, leg
  FROM audit.posting;

CREATE VIEW audit.events AS
SELECT e.partition, e.position, e.stream, e.version, e.type,
       CASE WHEN a.derived THEN 'derived' ELSE 'input' END AS kind, e.hand_id, e.actor, e.recorded_at,
       e.causation_id, e.correlation_id, encode(e.hash, 'hex') AS hash, a.body
  FROM log.events AS e JOIN audit.event AS a USING (partition, position);

DO $$
DECLARE
    view_name text;
BEGIN
    FOREACH view_name IN ARRAY ARRAY[
        'tables', 'hands', 'bets', 'cards', 'decisions', 'postings', 'events'
    ] LOOP
        EXECUTE format('ALTER VIEW audit.%I OWNER TO croupier_owner', view_name);
        EXECUTE format('GRANT SELECT ON audit.%I TO croupier_auditor, croupier_audit', view_name);
    END LOOP;
END
$$;
