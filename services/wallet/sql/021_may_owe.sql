-- Which accounts may be negative: the house's side. Players' money, on the table or off it, may not.
CREATE FUNCTION wallet.may_owe(account text) RETURNS boolean
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT split_part(account, '/', 1) IN ('house', 'commission', 'cashier') $$;
ALTER FUNCTION wallet.may_owe(text) OWNER TO croupier_owner;
