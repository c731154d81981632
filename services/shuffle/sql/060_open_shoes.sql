-- Which shoes are open, without a walk over all that ever were: the seeds of those that were retired and
-- not published stay, so that they can be checked.
ALTER TABLE shuffle.seeds ADD COLUMN retired boolean NOT NULL DEFAULT false;
UPDATE shuffle.seeds AS s SET retired = true
 WHERE EXISTS (SELECT FROM log.events AS e
                WHERE e.stream = 'shuffle/' || s.shoe_id AND e.type = 'ShoeRetired');
CREATE INDEX seeds_open ON shuffle.seeds (shoe_id) WHERE NOT retired;
GRANT UPDATE (retired) ON shuffle.seeds TO croupier_shuffle;
