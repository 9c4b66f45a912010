import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: a failed chunk of its kind does not say how many items have failed, and counts with all of them. With `failsFast` it is one item. */
export class Migration20261126181500_FailedItems extends Migration {
  override up(): void {
    this.addSql(`
create or replace function end_of_chunk() returns trigger language plpgsql as $$
begin
  update map_chunk set status = new.status, ended_at = now(), due = map_id,
    failed = case new.status when 'COMPLETED' then coalesce((new.output ->> 'failed')::int, 0)
      when 'FAILED' then coalesce((new.error #>> '{details,failedItems}')::int,
        (select 1 from run_map m where m.id = map_id and (m.plan ->> 'failsFast')::boolean), size) else 0 end,
    result_size = case new.status when 'COMPLETED' then coalesce((new.output ->> 'size')::int, 0) else 0 end
  where instance_id = new.id and ended_at is null;
  return null;
end $$`);
  }
}
