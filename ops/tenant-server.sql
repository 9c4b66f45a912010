-- What a server for databases of tenants (TENANT_DATABASES_URL) needs from its superuser. Run once, in template1, from which
-- Gantry copies the databases; running it again changes nothing:
--
--   psql -U postgres -d template1 -f ops/tenant-server.sql
--   psql -U postgres -d postgres -c '\password gantry'
--
-- The setting is then postgres://gantry:<password>@<host>:<port>/postgres. PostgreSQL 15 or later. Needed besides, in
-- postgresql.conf from version 16 on: reserved_connections = 5.
-- Empty lines end statements for the single-user mode in which the embedded server runs this file.

do $$ begin
  if not exists (select from pg_roles where rolname = 'gantry') then create role gantry login; end if;
end $$;

alter role gantry nosuperuser createdb createrole;

-- Disk for sorting and hashing, which tenants may not raise.
grant set on parameter temp_file_limit to gantry;

-- Ending connections, and sizes and activity of databases that their owners have closed to it.
grant pg_signal_backend, pg_read_all_stats to gantry;

do $$ begin
  if current_setting('server_version_num')::int >= 160000 then
    grant pg_use_reserved_connections to gantry;
  end if;
  -- Ending autovacuum's workers, which call functions in indexes of tenants.
  if current_setting('server_version_num')::int >= 180000 then
    grant pg_signal_autovacuum_worker to gantry;
  end if;
end $$;

-- Tenants have their own databases and no other.
revoke connect, temporary on database postgres, template1 from public;

grant connect on database postgres to gantry;

-- Names of other databases and roles, and what they do. Copied with template1, because rights on these views are of one database.
do $$ declare
  hidden text := 'pg_stat_activity, pg_stat_database, pg_stat_database_conflicts, pg_stat_ssl, pg_stat_gssapi, pg_stat_replication,
    pg_replication_slots, pg_stat_replication_slots, pg_locks, pg_prepared_xacts, pg_database, pg_roles, pg_user, pg_group,
    pg_auth_members, pg_db_role_setting, pg_shdepend, pg_shdescription, pg_shseclabel, pg_tablespace, pg_replication_origin';
begin
  execute format('revoke select on %s from public', hidden);
  execute format('grant select on %s to gantry', hidden);
  revoke execute on function pg_stat_get_activity(int) from public;
  grant execute on function pg_stat_get_activity(int) to gantry;
end $$;

do $$ declare
  telling regprocedure;
begin
  for telling in select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace
    and (proname ~ '^pg_stat_get_(backend|db)_' or proname in ('pg_lock_status', 'pg_prepared_xact', 'pg_get_replication_slots',
      'pg_stat_get_wal_senders', 'pg_stat_get_progress_info', 'pg_tablespace_databases'))
  loop
    execute format('revoke execute on function %s from public', telling);
    execute format('grant execute on function %s to gantry', telling);
  end loop;
end $$;

-- Large objects have no owner that a disk quota could stop.
do $$ declare
  writing regprocedure;
begin
  for writing in select oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace
    and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite', 'lo_import')
  loop
    execute format('revoke execute on function %s from public', writing);
  end loop;
end $$;

-- Read by Gantry, to see that this script has run.
comment on database template1 is 'template of tenant databases';

