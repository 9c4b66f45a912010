import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it leaves runs with maps to new workers, whose kinds it does not know, and shows chunks as runs. */
export class Migration20261122202500_Maps extends Migration {
  override up(): void {
    // The map of which the run is a chunk; null for all other runs.
    this.addSql('alter table workflow_instance add column map_id uuid');
    this.addSql('alter table run_wait drop constraint run_wait_kind_check');
    this.addSql(`
alter table run_wait add constraint run_wait_kind_check check (kind in ('time', 'child', 'input', 'job', 'event', 'chunks')) not valid`);

    // One for each frame of a node that works off its items in chunks, with counters of what has ended. Written only by a
    // transaction that has locked the run.
    this.addSql(`
create table run_map (
  id uuid primary key,
  instance_id uuid not null,
  node_id text not null,
  path text not null,
  frame jsonb,
  attempt integer not null,
  plan jsonb not null,
  scope jsonb not null,
  items integer not null,
  chunks integer not null,
  concurrency integer not null,
  tolerated integer,
  started integer not null default 0,
  ended integer not null default 0,
  done_items integer not null default 0,
  failed_items integer not null default 0,
  result_size bigint not null default 0,
  max_result_size bigint not null,
  outcome varchar(8) check (outcome in ('done', 'failed', 'stopped', 'large')),
  reported_at timestamptz(3) not null default now(),
  created_at timestamptz(3) not null default now()
)`);
    this.addSql('create index on run_map (instance_id)');
    // Maps whose first chunks were not started: their worker may have died in between.
    this.addSql('create index run_map_begun on run_map (created_at) where started = 0 and outcome is null');

    // `due` is the map while the chunk has ended and is not counted.
    this.addSql(`
create table map_chunk (
  map_id uuid not null references run_map (id) on delete cascade,
  n integer not null,
  first integer not null,
  size integer not null,
  items jsonb not null,
  instance_id uuid,
  status varchar(12),
  failed integer,
  result_size integer,
  ended_at timestamptz(3),
  due uuid,
  primary key (map_id, n)
)`);
    this.addSql('create unique index on map_chunk (instance_id) where instance_id is not null');
    this.addSql('create index map_chunk_due on map_chunk (due) where due is not null');

    // Notes the end of a chunk in its own row. The counters are one row for all chunks, which would wait for each other there.
    this.addSql(`
create function end_of_chunk() returns trigger language plpgsql as $$
begin
  update map_chunk set status = new.status, ended_at = now(), due = map_id,
    failed = case new.status when 'COMPLETED' then coalesce((new.output ->> 'failed')::int, 0) when 'FAILED' then size else 0 end,
    result_size = case new.status when 'COMPLETED' then coalesce((new.output ->> 'size')::int, 0) else 0 end
  where instance_id = new.id and ended_at is null;
  return null;
end $$`);
    this.addSql(`
create trigger ended_chunk after update of completed_at on workflow_instance for each row
when (new.map_id is not null and old.completed_at is null and new.completed_at is not null)
execute function end_of_chunk()`);
    // The parent of a chunk is told by the counters.
    this.addSql('drop trigger ended_child on workflow_instance');
    this.addSql(`
create trigger ended_child after update of completed_at on workflow_instance for each row
when (new.parent_id is not null and new.map_id is null and old.completed_at is null and new.completed_at is not null)
execute function notice_of_ended_child()`);

    this.addSql(`
create function notice_of_orphaned_chunks() returns trigger language plpgsql as $$
begin
  insert into run_notice (instance_id, kind)
  select i.id, 'cancel' from map_chunk c join workflow_instance i on i.id = c.instance_id
  where c.map_id = old.ref and case when c.ended_at is null and i.completed_at is null then true else false end;
  return null;
end $$`);
    this.addSql(`
create trigger orphaned_chunks after delete on run_wait for each row when (old.kind = 'chunks')
execute function notice_of_orphaned_chunks()`);
  }
}
