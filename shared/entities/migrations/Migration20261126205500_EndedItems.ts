import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it shows the items of a failed chunk as failed, all of them, and counts those that have not ended. */
export class Migration20261126205500_EndedItems extends Migration {
  override up(): void {
    // How many items of a chunk have ended, by its events: they come one after the other, so that all before the last that began.
    // The map itself has failed in there after all of them.
    this.addSql(`
create function ended_items(run_id uuid, first_item integer, items integer) returns integer language sql stable as $$
  select case when bool_or(fails) and max(n) is not null then items else coalesce(max(n) - first_item, 0) end
  from (
    select (e.frame #>> '{0,iteration}')::int as n, e.status = 'FAILED' and e.node_id is not null and e.frame is null as fails
    from run_event e where e.instance_id = run_id
    union all
    select (s.value #>> '{frame,0,iteration}')::int, false
    from run_event e cross join lateral jsonb_array_elements(e.started) s where e.instance_id = run_id and jsonb_typeof(s.value) = 'object'
  ) seen
$$`);
    // With \`failsFast\` a failed chunk is one failed item. One that fails as a whole fails those of its items that have not ended.
    this.addSql(`
create or replace function end_of_chunk() returns trigger language plpgsql as $$
begin
  update map_chunk set status = new.status, ended_at = now(), due = map_id,
    failed = case new.status when 'COMPLETED' then coalesce((new.output ->> 'failed')::int, 0)
      when 'FAILED' then coalesce((new.error #>> '{details,failedItems}')::int,
        (select 1 from run_map m where m.id = map_id and (m.plan ->> 'failsFast')::boolean),
        (
          select size - ended.n + count(distinct e.frame) filter (where (e.frame #>> '{0,iteration}')::int < first + ended.n)
          from (select ended_items(new.id, first, size) as n) ended left join run_event e
            on e.instance_id = new.id and e.status = 'FAILED' and jsonb_array_length(e.frame) = 1 and e.payload ? 'failsItem'
          group by ended.n
        )) else 0 end,
    result_size = case new.status when 'COMPLETED' then coalesce((new.output ->> 'size')::int, 0) else 0 end
  where instance_id = new.id and ended_at is null;
  return null;
end $$`);
  }
}
