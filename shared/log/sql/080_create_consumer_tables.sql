-- Gives a service what its consumers keep (shared/bus/consumer.py), in the service's own schema:
-- how far each has come, and the events that it could not apply. To be called by the service's
-- migrations, as superuser, once its schema is there.
CREATE FUNCTION log.create_consumer_tables(in_schema name, for_role name) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- One row a consumer and partition, moved by every transaction that applies events.
    EXECUTE format($ddl$
        CREATE TABLE %I.consumer_positions (
            consumer   text COLLATE "C" NOT NULL CHECK (consumer ~ '^[a-z][a-z0-9_-]{0,31}$'),
            partition  text COLLATE "C" NOT NULL,
            position   bigint NOT NULL DEFAULT 0 CHECK (position >= 0),
            hash       bytea CHECK (octet_length(hash) = 32),
            moved_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (consumer, partition),
            CHECK ((position = 0) = (hash IS NULL))
        ) WITH (fillfactor = 20)
    $ddl$, in_schema);
    -- A stream with an event in here is parked: what comes later of it is put here as well.
    EXECUTE format($ddl$
        CREATE TABLE %I.parked_events (
            consumer         text COLLATE "C" NOT NULL,
            stream           text COLLATE "C" NOT NULL,
            version          bigint NOT NULL,
            partition        text COLLATE "C" NOT NULL,
            position         bigint NOT NULL,
            type             text COLLATE "C" NOT NULL,
            error            text NOT NULL,
            attempts         integer NOT NULL DEFAULT 1,
            parked_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
            retry_requested  boolean NOT NULL DEFAULT false,
            PRIMARY KEY (consumer, stream, version)
        )
    $ddl$, in_schema);
    EXECUTE format('ALTER TABLE %I.consumer_positions OWNER TO croupier_owner', in_schema);
    EXECUTE format('ALTER TABLE %I.parked_events OWNER TO croupier_owner', in_schema);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I.consumer_positions TO %I', in_schema, for_role);
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON %I.parked_events TO %I', in_schema, for_role);
END
$$;
ALTER FUNCTION log.create_consumer_tables(name, name) OWNER TO croupier_owner;
REVOKE ALL ON FUNCTION log.create_consumer_tables(name, name) FROM PUBLIC;
