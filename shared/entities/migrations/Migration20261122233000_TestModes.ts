import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: its workers get no test run that has a mode, and its test runs have none. */
export class Migration20261122233000_TestModes extends Migration {
  override up(): void {
    this.addSql('alter table workflow_instance add column test_mode jsonb');

    // By which old test runs are found.
    this.addSql('create index on workflow_instance (completed_at) where is_test');

    // Wherever a test run starts others. Its mode names nodes of its own graph, which is also that of the chunks of a map.
    this.addSql(`
create function inherit_test_mode() returns trigger language plpgsql as $$
begin
  select case when new.map_id is not null then p.test_mode
              when p.test_mode -> 'dryRun' = 'true' then '{"dryRun": true}'::jsonb end
  into new.test_mode from workflow_instance p where p.id = new.parent_id;
  return new;
end $$`);
    this.addSql(`
create trigger test_of_parent before insert on workflow_instance for each row
when (new.is_test and new.parent_id is not null)
execute function inherit_test_mode()`);

    // A worker of an earlier version would write what a dry run must not: its claim finds no row.
    this.addSql(`
create function claim_test_mode() returns trigger language plpgsql as $$
begin
  if exists (select from worker_session where id = new.held_by and version <> '1') then return new; end if;
  return null;
end $$`);
    this.addSql(`
create trigger claimed_test before update of held_by on workflow_instance for each row
when (new.test_mode is not null and old.held_by is null and new.held_by is not null)
execute function claim_test_mode()`);
  }
}
