-- The one way into the log: many appends, of one stream each, in one call.
--
-- Arguments are parallel arrays. The first eight have one element an append: `event_counts` says how
-- many events each brings, `event_hashes` holds their hashes one behind the other (32 bytes each);
-- `callers`, `command_ids` and `body_hashes` are null for an append without a command. The last seven
-- have one element an event, those of the first append first.
--
-- The answer has one element an append:
--   ok            it is in, from `first_positions`/`first_versions` to `last_versions`
--   conflict      the stream has `last_versions` events, not what was expected; nothing of it is in
--   same          this append id is in already; the numbers are those of the first time
--   same_command  this command is in already, by another append; likewise
--   body_differs  this command id is in with another body; likewise
-- None of them harms its neighbours.
--
-- Errors, which leave nothing: LG002 the caller may not write a category, LG003 malformed arguments.
--
-- Everything after the lock runs as statements of their own, so under READ COMMITTED they see what
-- the holders of the lock before us committed. Positions are given out under the lock, which goes
-- only at the end of the transaction: position order is commit order, and there are no gaps.
CREATE FUNCTION log.append(
    append_ids uuid[], streams text[], expected_versions bigint[], event_counts integer[],
    event_hashes bytea[], callers text[], command_ids uuid[], body_hashes bytea[],
    types text[], schema_versions integer[], payloads bytea[], hand_ids text[],
    causation_ids uuid[], correlation_ids uuid[], actors text[],
    OUT outcomes text[], OUT partitions text[], OUT first_positions bigint[],
    OUT first_versions bigint[], OUT last_versions bigint[], OUT recorded_ats timestamptz[]
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- The tables are found by key whatever their statistics said when the plan was made.
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    appends integer := cardinality(append_ids);
    -- The locked heads, in name order.
    names text[];
    head_positions bigint[];
    heads bytea[];
    times timestamptz[];
    prefixes bytea[];
    stamps bytea[];
    moved boolean[];
    -- Of each append.
    event_offsets integer[];
    block_heads bytea[];
    before integer := 0;
    written integer := 0;
    with_command boolean := false;
    k integer;
    it record;
    first_at bigint;
    written_at timestamptz;
BEGIN
    IF appends IS NULL OR appends NOT BETWEEN 1 AND 1024
        OR cardinality(streams) <> appends OR cardinality(expected_versions) <> appends
        OR cardinality(event_counts) <> appends OR cardinality(event_hashes) <> appends
        OR cardinality(callers) <> appends OR cardinality(command_ids) <> appends
        OR cardinality(body_hashes) <> appends
        OR cardinality(types) NOT BETWEEN 1 AND 16384
        OR cardinality(schema_versions) <> cardinality(types)
        OR cardinality(payloads) <> cardinality(types) OR cardinality(hand_ids) <> cardinality(types)
        OR cardinality(causation_ids) <> cardinality(types)
        OR cardinality(correlation_ids) <> cardinality(types)
        OR cardinality(actors) <> cardinality(types)
    THEN
        RAISE EXCEPTION 'arguments of different or impossible lengths' USING ERRCODE = 'LG003';
    END IF;

    -- Of full length from the start: an array whose first element to be set is the third would begin
    -- with the third.
    outcomes := array_fill(NULL::text, ARRAY[appends]);
    partitions := array_fill(NULL::text, ARRAY[appends]);
    first_positions := array_fill(NULL::bigint, ARRAY[appends]);
    first_versions := first_positions;
    last_versions := first_positions;
    recorded_ats := array_fill(NULL::timestamptz, ARRAY[appends]);
    block_heads := array_fill(NULL::bytea, ARRAY[appends]);
    event_offsets := array_fill(0, ARRAY[appends]);

    LOCK TABLE log.partitions IN ROW SHARE MODE;
    FOR it IN
        SELECT p.name, p.position, p.head, p.recorded_at AS now,
               -- Inside a SECURITY DEFINER function current_user is the owner.
               EXISTS (SELECT FROM log.writers AS w
                        WHERE w.role = session_user AND w.category = p.category) AS is_writer
          FROM log.partitions AS p
         WHERE p.name = ANY (ARRAY(
            SELECT coalesce(s.partition, log.partition_of(wanted))
              FROM unnest(streams) AS wanted LEFT JOIN log.streams AS s ON s.stream = wanted))
         ORDER BY p.name FOR UPDATE
    LOOP
        IF NOT it.is_writer THEN
            RAISE EXCEPTION '% may not write partition %', session_user, it.name
                USING ERRCODE = 'LG002';
        END IF;
        names := names || it.name;
        head_positions := head_positions || it.position;
        heads := heads || it.head;
        it.now := greatest(clock_timestamp(), it.now);
        times := times || it.now;
        prefixes := prefixes || (int4send(octet_length(it.name)) || convert_to(it.name, 'UTF8'));
        stamps := stamps || int8send((extract(epoch FROM it.now) * 1000000)::bigint);
        moved := moved || false;
    END LOOP;

    FOR it IN
        SELECT i AS n, s.partition, coalesce(s.version, 0) AS version,
               b.append_id IS NOT NULL AS is_known, b.partition AS block_partition,
               b.first_position, b.count, b.recorded_at,
               c.body_hash, c.first_version, c.last_version
          FROM generate_series(1, appends) AS i
          LEFT JOIN log.streams AS s ON s.stream = streams[i]
          LEFT JOIN log.blocks AS b ON b.append_id = append_ids[i]
          LEFT JOIN log.commands AS c
            ON c.stream = streams[i] AND c.caller = callers[i] AND c.command_id = command_ids[i]
         ORDER BY i
    LOOP
        event_offsets[it.n] := before;
        IF event_counts[it.n] NOT BETWEEN 1 AND 1000
            OR octet_length(event_hashes[it.n]) <> 32 * event_counts[it.n]
            OR expected_versions[it.n] < 0
        THEN
            RAISE EXCEPTION 'append % is malformed', append_ids[it.n] USING ERRCODE = 'LG003';
        END IF;
        before := before + event_counts[it.n];

        IF it.is_known THEN
            outcomes[it.n] := 'same';
            partitions[it.n] := it.block_partition;
            first_positions[it.n] := it.first_position;
            recorded_ats[it.n] := it.recorded_at;
            SELECT e.version INTO STRICT first_at FROM log.events AS e
             WHERE e.partition = it.block_partition AND e.position = it.first_position;
            first_versions[it.n] := first_at;
            last_versions[it.n] := first_at + it.count - 1;
        ELSIF it.body_hash IS NOT NULL THEN
            outcomes[it.n] := CASE WHEN it.body_hash = body_hashes[it.n]
                                      THEN 'same_command' ELSE 'body_differs' END;
            partitions[it.n] := it.partition;
            first_versions[it.n] := it.first_version;
            last_versions[it.n] := it.last_version;
            SELECT e.position, e.recorded_at INTO STRICT first_at, written_at
              FROM log.events AS e
             WHERE e.stream = streams[it.n] AND e.version = it.first_version;
            first_positions[it.n] := first_at;
            recorded_ats[it.n] := written_at;
        ELSIF it.version <> expected_versions[it.n] THEN
            outcomes[it.n] := 'conflict';
            partitions[it.n] := it.partition;
            last_versions[it.n] := it.version;
        ELSE
            partitions[it.n] := coalesce(it.partition, log.partition_of(streams[it.n]));
            k := array_position(names, partitions[it.n]);
            IF k IS NULL OR it.partition IS NULL AND streams[it.n] !~ '^[a-z]{1,16}/[A-Za-z0-9_-]{1,64}$'
            THEN
                RAISE EXCEPTION 'no stream can be called %', quote_nullable(streams[it.n])
                    USING ERRCODE = 'LG003';
            END IF;
            outcomes[it.n] := 'ok';
            first_positions[it.n] := head_positions[k] + 1;
            first_versions[it.n] := it.version + 1;
            last_versions[it.n] := it.version + event_counts[it.n];
            recorded_ats[it.n] := times[k];
            heads[k] := sha256(
                heads[k] || prefixes[k] || int8send(first_positions[it.n])
                || int4send(event_counts[it.n]) || stamps[k] || event_hashes[it.n]
            );
            block_heads[it.n] := heads[k];
            head_positions[k] := head_positions[k] + event_counts[it.n];
            moved[k] := true;
            written := written + 1;
            with_command := with_command OR command_ids[it.n] IS NOT NULL;
        END IF;
    END LOOP;
    IF before <> cardinality(types) THEN
        RAISE EXCEPTION '% events announced, % brought', before, cardinality(types)
            USING ERRCODE = 'LG003';
    END IF;
    IF written = 0 THEN
        RETURN;
    END IF;

    INSERT INTO log.events (
        position, version, recorded_at, schema_version, causation_id, correlation_id,
        partition, stream, type, hand_id, actor, hash, payload
    )
    SELECT first_positions[a] + i, first_versions[a] + i, recorded_ats[a],
           schema_versions[event_offsets[a] + i + 1], causation_ids[event_offsets[a] + i + 1],
           correlation_ids[event_offsets[a] + i + 1], partitions[a], streams[a],
           types[event_offsets[a] + i + 1], hand_ids[event_offsets[a] + i + 1],
           actors[event_offsets[a] + i + 1], substr(event_hashes[a], 32 * i + 1, 32),
           payloads[event_offsets[a] + i + 1]
      FROM generate_series(1, appends) AS a, generate_series(0, event_counts[a] - 1) AS i
     WHERE outcomes[a] = 'ok';

    INSERT INTO log.blocks (partition, first_position, count, append_id, recorded_at, head)
    SELECT partitions[a], first_positions[a], event_counts[a], append_ids[a], recorded_ats[a],
           block_heads[a]
      FROM generate_series(1, appends) AS a
     WHERE outcomes[a] = 'ok';

    INSERT INTO log.streams AS s (stream, partition, version)
    SELECT streams[a], partitions[a], last_versions[a]
      FROM generate_series(1, appends) AS a
     WHERE outcomes[a] = 'ok'
    ON CONFLICT (stream) DO UPDATE SET version = excluded.version;

    IF with_command THEN
        INSERT INTO log.commands (
            stream, caller, command_id, body_hash, first_version, last_version
        )
        SELECT streams[a], callers[a], command_ids[a], body_hashes[a], first_versions[a],
               last_versions[a]
          FROM generate_series(1, appends) AS a
         WHERE outcomes[a] = 'ok' AND command_ids[a] IS NOT NULL;
    END IF;

    UPDATE log.partitions AS p
       SET position = head_positions[i], head = heads[i], recorded_at = times[i]
      FROM generate_subscripts(names, 1) AS i
     WHERE p.name = names[i] AND moved[i];
END
$$;
ALTER FUNCTION log.append(
    uuid[], text[], bigint[], integer[], bytea[], text[], uuid[], bytea[],
    text[], integer[], bytea[], text[], uuid[], uuid[], text[]
) OWNER TO croupier_owner;
