#!/bin/sh
# Run by the image of PostgreSQL after it has made its data folder: gives Gantry a role that is no superuser (GANTRY_PASSWORD),
# and with GANTRY_DATABASE a database. The superuser keeps no password, so that it is reached from inside the container only.
set -eu
psql -v ON_ERROR_STOP=1 -U postgres -d postgres -v password="$GANTRY_PASSWORD" <<'SQL'
select 'create role gantry login' where not exists (select from pg_roles where rolname = 'gantry') \gexec
alter role gantry password :'password';
alter role postgres password null;
SQL
if [ -n "${GANTRY_DATABASE:-}" ]; then createdb -U postgres -O gantry "$GANTRY_DATABASE"; fi
