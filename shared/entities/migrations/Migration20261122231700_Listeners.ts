import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows no listeners. */
export class Migration20261122231700_Listeners extends Migration {
  override up(): void {
    // Tells processes that what they have kept of a tenant's listeners is old.
    this.addSql('alter table tenant add column listeners_version bigint not null default 0');
    this.addSql(`
create table listener (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  listener_title varchar(255) not null,
  listener_description text,
  listener_type varchar(32) not null,
  datasource_id uuid not null references datasource(id) deferrable initially deferred,
  listener_config jsonb not null default '{}',
  status varchar(12) not null default 'inactive' check (status in ('inactive', 'active', 'error')),
  last_error text,
  last_event_at timestamptz,
  event_count bigint not null default 0,
  endpoint_path varchar(255),
  endpoint_shape varchar(255),
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index listener_page on listener (tenant_id, created_at desc, id desc)');
    this.addSql('create unique index listener_endpoint on listener (tenant_id, endpoint_shape)');
    this.addSql('create index listener_datasource on listener (datasource_id)');
    this.addSql(`create index listener_active on listener (listener_type, id) where status = 'active'`);

    this.addSql(`
create table listener_action (
  id uuid primary key,
  tenant_id uuid not null,
  listener_id uuid not null references listener(id) on delete cascade,
  action_type varchar(32) not null,
  action_config jsonb not null default '{}',
  is_enabled boolean not null default true,
  order_index integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index listener_action_order on listener_action (listener_id, order_index, created_at, id)');
    this.addSql('create index listener_action_tenant on listener_action (tenant_id)');

    this.addEvents();
    this.addVersions();
  }

  /** Not in partitions: dropping one waits for every reader of the table, and deliveries would wait behind it. */
  private addEvents(): void {
    this.addSql(`
create table listener_event (
  id uuid primary key,
  tenant_id uuid not null,
  listener_id uuid not null,
  source varchar(32) not null,
  received_at timestamptz(3) not null default now(),
  method varchar(16),
  path text,
  query text,
  params jsonb,
  headers jsonb,
  body bytea,
  body_bytes integer not null default 0,
  meta jsonb,
  dedup_key varchar(128),
  duplicate_of uuid,
  order_key varchar(128),
  state varchar(12) not null default 'pending' check (state in ('pending', 'done', 'filtered', 'duplicate', 'dead')),
  attempts integer not null default 0,
  ready_at timestamptz not null default now(),
  dispatched_at timestamptz,
  instance_id uuid,
  awaited_by varchar(63),
  error jsonb,
  actions jsonb,
  replay_of uuid,
  finished_at timestamptz,
  expires_at timestamptz,
  check ((state = 'pending') = (finished_at is null)),
  check ((finished_at is null) = (expires_at is null))
)`);
    // Also for the deletion of a tenant.
    this.addSql('create index listener_event_page on listener_event (tenant_id, listener_id, id)');
    // An unfinished event is in one of these. By tenant: tenants take turns, and what a tenant has waiting is counted.
    this.addSql(`
create index listener_event_waiting on listener_event (tenant_id, ready_at, id)
where dispatched_at is null and finished_at is null`);
    this.addSql(`
create index listener_event_dispatched on listener_event (tenant_id, dispatched_at, id)
where dispatched_at is not null and finished_at is null`);
    this.addSql('create index listener_event_expires on listener_event (expires_at) where expires_at is not null');
    this.addSql(`create index listener_event_dead on listener_event (tenant_id, id) where state = 'dead'`);

    this.addSql(`
create table listener_dedup (
  listener_id uuid not null,
  key varchar(128) not null,
  tenant_id uuid not null,
  event_id uuid not null,
  body_hash bytea not null,
  expires_at timestamptz not null,
  primary key (listener_id, key)
)`);
    this.addSql('create index listener_dedup_expires on listener_dedup (expires_at)');
    this.addSql('create index listener_dedup_tenant on listener_dedup (tenant_id)');

    // Bytes and events of a tenant that were received on a day.
    this.addSql(`
create table listener_usage (
  tenant_id uuid not null,
  day timestamptz not null,
  events bigint not null default 0,
  bytes bigint not null default 0,
  primary key (tenant_id, day)
)`);
    this.addSql('create index listener_usage_day on listener_usage (day)');
  }

  private addVersions(): void {
    this.addSql(`
create function note_listeners() returns trigger language plpgsql as $$
begin
  update tenant set listeners_version = listeners_version + 1 where id = coalesce(new.tenant_id, old.tenant_id);
  return null;
end $$`);
    this.addSql(`
create trigger listener_version after insert or delete on listener for each row execute function note_listeners()`);
    // Not of the counts, which change all the time.
    this.addSql(`
create trigger listener_change after update on listener for each row
when ((old.listener_type, old.datasource_id, old.listener_config, old.status, old.endpoint_path, old.creator_id, old.created_by_api_key_id)
  is distinct from (new.listener_type, new.datasource_id, new.listener_config, new.status, new.endpoint_path, new.creator_id, new.created_by_api_key_id))
execute function note_listeners()`);
    this.addSql(`
create trigger listener_action_change after insert or update or delete on listener_action
for each row execute function note_listeners()`);
    this.addSql(`
create function note_listened_datasource() returns trigger language plpgsql as $$
begin
  update tenant set listeners_version = listeners_version + 1
  where id = new.tenant_id and exists (select from listener where datasource_id = new.id);
  return null;
end $$`);
    this.addSql(`
create trigger datasource_listened after update of datasource_options, datasource_type on datasource for each row
when (old.datasource_options is distinct from new.datasource_options or old.datasource_type <> new.datasource_type)
execute function note_listened_datasource()`);
  }
}
