import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: the trigger serves the claims of its workers as well, and its runs have no limit for the queue. */
export class Migration20261122234500_QueueTimeouts extends Migration {
  override up(): void {
    // Of a run whose wait in the queue is limited: until it begins, its deadline is that of the queue.
    this.addSql('alter table workflow_instance add column run_limit interval');
    this.addSql(`
create function begin_run_limit() returns trigger language plpgsql as $$
begin
  new.deadline_at := now() + new.run_limit;
  return new;
end $$`);
    this.addSql(`
create trigger begins before update of started_at on workflow_instance for each row
when (new.run_limit is not null and old.started_at is null and new.started_at is not null)
execute function begin_run_limit()`);
  }
}
