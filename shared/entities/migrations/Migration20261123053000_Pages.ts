import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it has no dashboards and no app pages. */
export class Migration20261123053000_Pages extends Migration {
  override up(): void {
    this.addSql(`
create table dashboard (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  dashboard_title varchar(255) not null,
  dashboard_description text,
  dashboard_config jsonb not null,
  ${OWNED}
)`);
    this.addSql('create index dashboard_list on dashboard (tenant_id, created_at desc, id desc)');
    this.addSql(`
create table app_page (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  app_page_title varchar(255) not null,
  app_page_description text,
  app_page_config jsonb not null,
  is_draft boolean not null default false,
  ${OWNED}
)`);
    this.addSql('create index app_page_list on app_page (tenant_id, created_at desc, id desc)');
    this.addSql(`
create table asset_version (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  asset_id uuid not null,
  number integer not null,
  title varchar(255) not null,
  description text,
  config jsonb not null,
  change_note text,
  bytes integer not null,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  unique (asset_id, number)
)`);
    this.addSql('create index asset_version_tenant on asset_version (tenant_id)');
    this.addSql(`
create function measure_asset_version() returns trigger language plpgsql as $$
begin
  new.bytes := pg_column_size(new.config) + coalesce(pg_column_size(new.description), 0);
  return new;
end $$`);
    this.addSql(`
create trigger asset_version_bytes before insert on asset_version
for each row execute function measure_asset_version()`);
    this.addSql('alter table tenant_usage add column asset_version_bytes bigint not null default 0');
    this.addSql('alter table tenant_usage alter column version_bytes set default 0');
    // Locks the row of the tenant last in each transaction, as that of versions of workflows does.
    this.addSql(`
create function count_asset_version_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into tenant_usage as u (tenant_id, asset_version_bytes)
    select tenant_id, sum(bytes) from changed group by tenant_id
    on conflict (tenant_id) do update set asset_version_bytes = u.asset_version_bytes + excluded.asset_version_bytes;
  else
    update tenant_usage u set asset_version_bytes = u.asset_version_bytes - c.bytes
    from (select tenant_id, sum(bytes) as bytes from changed group by tenant_id) c
    where u.tenant_id = c.tenant_id;
  end if;
  return null;
end $$`);
    this.addSql(`
create trigger asset_version_added after insert on asset_version referencing new table as changed
for each statement execute function count_asset_version_bytes()`);
    this.addSql(`
create trigger asset_version_removed after delete on asset_version referencing old table as changed
for each statement execute function count_asset_version_bytes()`);
    this.addSql(`
create function forget_asset_versions() returns trigger language plpgsql as $$
begin
  delete from asset_version where asset_id in (select id from gone);
  return null;
end $$`);
    for (const table of ['dashboard', 'app_page'])
      this.addSql(`
create trigger ${table}_versions after delete on ${table} referencing old table as gone
for each statement execute function forget_asset_versions()`);
  }
}

const OWNED = `
  version_number integer not null default 1,
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()`;
