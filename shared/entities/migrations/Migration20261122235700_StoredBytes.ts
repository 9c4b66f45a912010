import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: triggers measure the versions that it saves, and the answers that it keeps are not counted. */
export class Migration20261122235700_StoredBytes extends Migration {
  override up(): void {
    // As read, not as compressed on disk: a version that is deleted takes off what it had added.
    this.addSql('alter table workflow_version add column bytes integer');
    this.addSql(`
update workflow_version set bytes = pg_column_size(nodes) + pg_column_size(edges) + pg_column_size(options)`);
    this.addSql(`
create function measure_version() returns trigger language plpgsql as $$
begin
  new.bytes := pg_column_size(new.nodes) + pg_column_size(new.edges) + pg_column_size(new.options);
  return new;
end $$`);
    this.addSql(`
create trigger workflow_version_bytes before insert on workflow_version
for each row execute function measure_version()`);

    // A sum over all versions at each save would read as many rows as the tenant has versions.
    this.addSql('create table tenant_usage (tenant_id uuid primary key, version_bytes bigint not null)');
    this.addSql(`
insert into tenant_usage (tenant_id, version_bytes) select tenant_id, sum(bytes) from workflow_version group by tenant_id`);
    // Locks the rows of tenants last in each transaction; only retention, in one process at a time, locks several.
    this.addSql(`
create function count_version_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into tenant_usage as u (tenant_id, version_bytes)
    select tenant_id, sum(bytes) from changed group by tenant_id
    on conflict (tenant_id) do update set version_bytes = u.version_bytes + excluded.version_bytes;
  else
    update tenant_usage u set version_bytes = u.version_bytes - c.bytes
    from (select tenant_id, sum(bytes) as bytes from changed group by tenant_id) c
    where u.tenant_id = c.tenant_id;
  end if;
  return null;
end $$`);
    this.addSql(`
create trigger workflow_version_added after insert on workflow_version referencing new table as changed
for each statement execute function count_version_bytes()`);
    this.addSql(`
create trigger workflow_version_removed after delete on workflow_version referencing old table as changed
for each statement execute function count_version_bytes()`);

    // Bytes of an answer that is kept with a key; null without one, and for the answer to the start of a run.
    this.addSql('alter table idempotency add column kept_bytes integer');
    this.addSql('create index idempotency_kept on idempotency (tenant_id, expires_at) where kept_bytes is not null');
  }
}
