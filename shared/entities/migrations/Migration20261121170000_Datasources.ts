import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121170000_Datasources extends Migration {
  override up(): void {
    this.addSql(`
create table datasource (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  datasource_title varchar(255) not null,
  datasource_description text,
  datasource_type varchar(64) not null,
  datasource_options jsonb not null,
  datasource_tags jsonb not null default '[]',
  connection_status varchar(16) not null default 'unknown',
  tested_at timestamptz(3),
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on datasource (tenant_id, created_at desc, id desc)');
    this.addSql(`
create table data_query (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  data_query_title varchar(255) not null,
  data_query_description text,
  data_query_options jsonb not null,
  datasource_id uuid references datasource(id) on delete cascade,
  datasource_type varchar(64) not null,
  run_on_load boolean not null default false,
  is_disabled boolean not null default false,
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on data_query (tenant_id, created_at desc, id desc)');
    this.addSql('create index on data_query (datasource_id)');
    this.addSql(`
create table query_run (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  data_query_id uuid,
  datasource_id uuid,
  datasource_type varchar(64) not null,
  caller jsonb not null,
  started_at timestamptz(3) not null,
  duration_ms integer not null,
  row_count integer,
  is_cached boolean not null default false,
  error_code varchar(64),
  error_message text
)`);
    this.addSql('create index on query_run (tenant_id, data_query_id, started_at desc)');
    this.addSql('create index on query_run (started_at)');
    // Filled again on demand, so not worth the write-ahead log.
    this.addSql(`
create unlogged table query_cache (
  key text primary key,
  tenant_id uuid not null,
  sealed text not null,
  expires_at timestamptz not null
)`);
    this.addSql('create index on query_cache (expires_at)');
    this.addSql('create index on query_cache (tenant_id)');
  }
}
