CREATE VIEW audit.shoes AS
SELECT s.shoe_id, s.table_id, s.requested_at, s.opened_at, s.decks, s.publish,
       encode(s.commitment, 'hex') AS commitment, s.cut_by, s.cut_at, s.sealed_at,
       encode(s.root, 'hex') AS root, s.seeds_used, s.seeds_withheld, s.retired_at, s.retire_reason,
       s.dealt, s.burned, s.exposed, s.decks * 52 - s.dealt AS never_dealt,
       (SELECT count(*) FROM audit.shoe_hand AS h WHERE h.shoe_id = s.shoe_id) AS hands,
       s.checked_at, s.holds, s.findings
  FROM audit.shoe AS s;

CREATE VIEW audit.disclosures AS
SELECT d.shoe_id, s.table_id, d.purpose, d.disclosed_to, d.why, d.disclosed_at
  FROM audit.disclosure AS d JOIN audit.shoe AS s USING (shoe_id);

DO $$
DECLARE
    view_name text;
BEGIN
    FOREACH view_name IN ARRAY ARRAY['shoes', 'disclosures'] LOOP
        EXECUTE format('ALTER VIEW audit.%I OWNER TO croupier_owner', view_name);
        EXECUTE format('GRANT SELECT ON audit.%I TO croupier_auditor, croupier_audit', view_name);
    END LOOP;
END
$$;
