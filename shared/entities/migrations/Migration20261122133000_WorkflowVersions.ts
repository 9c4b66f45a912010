import { Migration } from '@mikro-orm/migrations';

/**
 * Old code can run beside it: the triggers number and publish what it saves. It does not find the workflows that have drafts only,
 * because `workflow.version_id`, the published version, is null for them.
 */
export class Migration20261122133000_WorkflowVersions extends Migration {
  override up(): void {
    this.addSql('alter table workflow alter column version_id drop not null');
    this.addSql(`
alter table workflow_version
  add column number integer,
  add column label varchar(255),
  add column creator_id uuid,
  add column created_by_api_key_id uuid,
  add column published_at timestamptz(3),
  add column published_by uuid`);
    // Every version so far was executed from the moment it was saved.
    this.addSql(`
update workflow_version v set number = n.number, published_at = v.created_at
from (
  select id, row_number() over (partition by workflow_id order by created_at, id) as number
  from workflow_version where workflow_id is not null
) n
where n.id = v.id`);
    this.addSql(
      'create unique index workflow_version_number on workflow_version (workflow_id, number desc) where workflow_id is not null',
    );
    this.addSql(`
create function number_version() returns trigger language plpgsql as $$
begin
  if new.workflow_id is not null and new.number is null then
    select coalesce(max(number), 0) + 1 into new.number from workflow_version where workflow_id = new.workflow_id;
  end if;
  return new;
end $$`);
    this.addSql(`
create trigger workflow_version_number before insert or update of workflow_id on workflow_version
for each row execute function number_version()`);
    this.addSql(`
create function keep_graph() returns trigger language plpgsql as $$
begin
  raise exception 'a version of a workflow is never changed';
end $$`);
    this.addSql(`
create trigger workflow_version_graph before update of nodes, edges, options on workflow_version
for each row when ((old.nodes, old.edges, old.options) is distinct from (new.nodes, new.edges, new.options))
execute function keep_graph()`);
    this.addSql(`
create or replace function note_versions() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    update workflow_version set superseded_at = now() where id = old.version_id and superseded_at is null;
  end if;
  if tg_op <> 'DELETE' then
    update workflow_version set superseded_at = null, published_at = coalesce(published_at, now())
    where id = new.version_id and (superseded_at is not null or published_at is null);
  end if;
  return null;
end $$`);
  }
}
