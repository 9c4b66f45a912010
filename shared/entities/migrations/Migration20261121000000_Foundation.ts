import { Migration } from '@mikro-orm/migrations';

/**
 * First migration: no older code runs beside it. Foreign keys are checked at the commit: the entity manager knows ids, not
 * relations, so it does not insert a tenant before the rows that belong to it.
 */
export class Migration20261121000000_Foundation extends Migration {
  override up(): void {
    this.addSql(`
create table tenant (
  id uuid primary key,
  tenant_title varchar(255) not null,
  tenant_description text,
  tenant_logo_url text,
  policy_version bigint not null default 0,
  deleting_at timestamptz,
  creator_id uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql(`
create table app_user (
  id uuid primary key,
  issuer text not null,
  subject text not null,
  email text,
  first_name text,
  last_name text,
  is_disabled boolean not null default false,
  last_seen timestamptz,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now(),
  unique (issuer, subject)
)`);
    this.addSql('create index on app_user (lower(email))');
    this.addSql(`
create table membership (
  tenant_id uuid not null references tenant(id) on delete cascade deferrable initially deferred,
  user_id uuid not null references app_user(id) deferrable initially deferred,
  role varchar(16) not null default 'MEMBER' check (role in ('ADMIN', 'MEMBER')),
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, user_id)
)`);
    this.addSql('create index on membership (user_id)');
    this.addSql(`
create table user_config (
  tenant_id uuid not null references tenant(id) on delete cascade deferrable initially deferred,
  user_id uuid not null references app_user(id) deferrable initially deferred,
  config jsonb not null,
  updated_at timestamptz not null default now(),
  primary key (tenant_id, user_id)
)`);
    this.addSql(`
create table policy_rule (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) on delete cascade deferrable initially deferred,
  kind varchar(8) not null check (kind in ('rule', 'grouping')),
  subject text not null,
  object text not null default '',
  action text not null default '',
  effect varchar(8) not null default 'allow' check (effect in ('allow', 'deny')),
  role text not null default '',
  created_at timestamptz(3) not null default now(),
  unique (tenant_id, kind, subject, object, action, effect, role)
)`);
    this.addSql('create index on policy_rule (tenant_id, object)');
    this.addSql(`
create table policy_change (
  tenant_id uuid not null references tenant(id) on delete cascade deferrable initially deferred,
  version bigint not null,
  op varchar(8) not null check (op in ('add', 'remove')),
  rule jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, version)
)`);
    this.addSql(`
create table workflow (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  title varchar(255) not null,
  workflow_description text,
  workflow_options jsonb not null default '{}',
  version_id uuid not null,
  is_disabled boolean not null default false,
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on workflow (tenant_id, created_at desc, id desc)');
    this.addSql(`
create table workflow_version (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  workflow_id uuid,
  nodes jsonb not null,
  edges jsonb not null,
  options jsonb not null default '{}',
  created_at timestamptz(3) not null default now()
)`);
    this.addSql('create index on workflow_version (tenant_id, workflow_id)');
    // A step changes only columns that no index holds, so with free space on the page its update is heap-only.
    this.addSql(`
create table workflow_instance (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  workflow_id uuid,
  version_id uuid not null,
  status varchar(12) not null default 'PENDING' check (status in ('PENDING', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  is_test boolean not null default false,
  class varchar(12) not null default 'interactive' check (class in ('interactive', 'webhook', 'cron', 'batch')),
  epoch integer not null default 0,
  held_by uuid,
  ready_at timestamptz,
  dispatched_at timestamptz,
  wake_seq integer not null default 0,
  wake_at timestamptz,
  seq bigint not null default 0,
  losses integer not null default 0,
  alone boolean not null default false,
  watched_until timestamptz,
  deadline_at timestamptz not null,
  parent_id uuid,
  parent_node_id text,
  parent_iteration integer,
  depth integer not null default 0,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz not null default now(),
  caller jsonb not null,
  input jsonb not null default '{}',
  output jsonb,
  error jsonb
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)`);
    this.addSql('create index on workflow_instance (tenant_id, created_at desc, id desc)');
    this.addSql(
      'create index on workflow_instance (tenant_id, workflow_id, created_at desc) where workflow_id is not null',
    );
    this.addSql(
      'create index workflow_instance_ready on workflow_instance (ready_at) where ready_at is not null and held_by is null',
    );
    this.addSql(
      'create index workflow_instance_dispatched on workflow_instance (dispatched_at) where dispatched_at is not null',
    );
    this.addSql('create index workflow_instance_held on workflow_instance (held_by) where held_by is not null');
    this.addSql('create index workflow_instance_wake on workflow_instance (wake_at) where wake_at is not null');
    this.addSql('create index workflow_instance_live on workflow_instance (deadline_at) where completed_at is null');
    this.addSql(
      'create index workflow_instance_done on workflow_instance (completed_at) where completed_at is not null',
    );
    this.addSql('create index workflow_instance_child on workflow_instance (parent_id) where parent_id is not null');
    this.addSql(`
create table run_event (
  instance_id uuid not null,
  seq bigint not null,
  node_id text,
  iteration integer not null default 0,
  attempt integer not null default 1,
  status varchar(12) not null,
  exit text,
  payload jsonb,
  created_at timestamptz(3) not null default now(),
  primary key (instance_id, seq)
)`);
    this.addSql(
      `create unique index run_event_success on run_event (instance_id, node_id, iteration) where status = 'SUCCESS'`,
    );
    this.addSql(`
create table run_wait (
  instance_id uuid not null,
  node_id text not null,
  iteration integer not null default 0,
  kind varchar(8) not null check (kind in ('time', 'child', 'input', 'job')),
  ref uuid,
  due_at timestamptz,
  created_at timestamptz(3) not null default now(),
  primary key (instance_id, node_id, iteration)
)`);
    this.addSql('create index on run_wait (due_at) where due_at is not null');
    this.addSql('create index on run_wait (ref) where ref is not null');
    this.addSql(`
create table collection_request (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  instance_id uuid not null,
  node_id text not null,
  iteration integer not null default 0,
  status varchar(12) not null default 'PENDING' check (status in ('PENDING', 'COMPLETED', 'EXPIRED', 'CANCELLED')),
  collection_type varchar(16) not null,
  collection_config jsonb not null,
  submitted_data jsonb,
  submitted_by uuid,
  expires_at timestamptz,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now(),
  unique (instance_id, node_id, iteration)
)`);
    this.addSql('create index on collection_request (tenant_id, status, created_at desc)');
    this.addSql(`
create table idempotency (
  tenant_id uuid not null,
  principal text not null,
  route text not null,
  key varchar(255) not null,
  request_hash text not null,
  status integer not null,
  response jsonb not null,
  expires_at timestamptz not null,
  primary key (tenant_id, principal, route, key)
)`);
    this.addSql('create index on idempotency (expires_at)');
    this.addSql(`
create table worker_session (
  id uuid primary key,
  started_at timestamptz not null default now(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  slots integer not null,
  version text not null
)`);
    this.addSql('create index on worker_session (expires_at) where ended_at is null');
    this.addSql(`
create table tenant_dispatch (
  tenant_id uuid primary key references tenant(id) on delete cascade deferrable initially deferred,
  vtime double precision not null default 0,
  weight double precision not null default 1 check (weight > 0)
)`);
    this.addSql(`
create table socket_io_attachments (
  id bigserial unique,
  created_at timestamptz default now(),
  payload bytea
)`);
    this.addSql(`
create table service_state (
  key text primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
)`);
  }
}
