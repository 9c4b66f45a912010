import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: what it saves is noticed by the triggers. */
export class Migration20261122114000_RetentionIndexes extends Migration {
  override up(): void {
    this.addSql('create index on policy_change (created_at)');
    this.addSql('create index on worker_session (ended_at) where ended_at is not null');
    // Null while a workflow has the version. The others are few among all versions, and found by their age.
    this.addSql('alter table workflow_version add column superseded_at timestamptz default now()');
    this.addSql(`
update workflow_version v set superseded_at = null from workflow w where w.version_id = v.id and v.tenant_id = w.tenant_id`);
    this.addSql('create index on workflow_version (superseded_at) where superseded_at is not null');
    this.addSql(`
create function note_versions() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    update workflow_version set superseded_at = now() where id = old.version_id and superseded_at is null;
  end if;
  if tg_op <> 'DELETE' then
    update workflow_version set superseded_at = null where id = new.version_id and superseded_at is not null;
  end if;
  return null;
end $$`);
    // At the commit: a workflow may be written before its version.
    for (const event of ['insert', 'delete', 'update of version_id'])
      this.addSql(`
create constraint trigger workflow_${event.split(' ')[0]}_versions after ${event} on workflow
deferrable initially deferred for each row execute function note_versions()`);
  }
}
