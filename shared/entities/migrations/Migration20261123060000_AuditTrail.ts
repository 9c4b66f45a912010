import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: only new tables and a column that it does not know. What it does is missing in the trail. */
export class Migration20261123060000_AuditTrail extends Migration {
  override up(): void {
    // No reference to the tenant: each request would lock its row. Rows of a deleted tenant are deleted with it.
    this.addSql(`
create table audit_record (
  seq bigint generated always as identity,
  id uuid not null unique,
  tenant_id uuid not null,
  kind varchar(8) not null,
  entry_id uuid,
  type varchar(32) not null,
  action varchar(64) not null,
  user_id uuid,
  api_key_id uuid,
  path text,
  asset_type varchar(32),
  asset_id uuid,
  status smallint,
  duration_ms integer,
  details jsonb not null,
  created_at timestamptz(3) not null,
  primary key (tenant_id, seq)
)`);
    // The sealing reads what was added last, of all tenants: in the order of the pages, for which this is enough and costs nothing.
    this.addSql(
      'create index audit_record_added on audit_record using brin (seq) with (pages_per_range = 16, autosummarize = on)',
    );
    this.addSql('create index audit_record_entry on audit_record (entry_id) where entry_id is not null');
    this.addSql(
      'create index audit_record_asset on audit_record (tenant_id, asset_id, seq) where asset_id is not null',
    );
    this.addSql(`
create table audit_seal (
  tenant_id uuid not null,
  number integer not null,
  from_seq bigint not null,
  to_seq bigint not null,
  row_count integer not null,
  newest_at timestamptz not null,
  content_hash bytea not null,
  hash bytea not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, number)
)`);
    this.addSql('create index on audit_seal (newest_at)');
    this.addSql('create table audit_progress (sealed_to bigint not null)');
    this.addSql('insert into audit_progress values (0)');
    this.addSql('alter table tenant add column audit_days integer');
  }
}
