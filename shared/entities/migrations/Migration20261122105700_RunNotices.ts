import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: its facts leave notices too, which the first new process acts on. */
export class Migration20261122105700_RunNotices extends Migration {
  override up(): void {
    // A fact that another run has to be told: deleted when that run has been woken or ended.
    this.addSql(`
create table run_notice (
  id bigint generated always as identity primary key,
  instance_id uuid not null,
  kind varchar(8) not null check (kind in ('wake', 'cancel')),
  created_at timestamptz not null default now()
)`);
    this.addSql('create index on run_notice (instance_id)');

    this.addSql(`
create function notice_of_ended_child() returns trigger language plpgsql as $$
begin
  insert into run_notice (instance_id, kind)
  select id, 'wake' from workflow_instance where id = new.parent_id and completed_at is null;
  return null;
end $$`);
    this.addSql(`
create trigger ended_child after update of completed_at on workflow_instance for each row
when (new.parent_id is not null and old.completed_at is null and new.completed_at is not null)
execute function notice_of_ended_child()`);

    this.addSql(`
create function notice_of_answer() returns trigger language plpgsql as $$
begin
  insert into run_notice (instance_id, kind) values (new.instance_id, 'wake');
  return null;
end $$`);
    this.addSql(`
create trigger answer after update of status on collection_request for each row
when (old.status = 'PENDING' and new.status = 'COMPLETED') execute function notice_of_answer()`);

    // The wait of a parent is deleted when its child has ended, or when the parent itself ends.
    this.addSql(`
create function notice_of_orphan() returns trigger language plpgsql as $$
begin
  insert into run_notice (instance_id, kind)
  select id, 'cancel' from workflow_instance where id = old.ref and completed_at is null;
  return null;
end $$`);
    this.addSql(`
create trigger orphan after delete on run_wait for each row when (old.kind = 'child')
execute function notice_of_orphan()`);

    this.addSql(`
insert into run_notice (instance_id, kind)
select w.instance_id, 'wake' from run_wait w
join workflow_instance i on i.id = w.instance_id and i.completed_at is null
left join workflow_instance child on w.kind = 'child' and child.id = w.ref
left join collection_request request on w.kind = 'input' and request.id = w.ref
where child.completed_at is not null or request.status <> 'PENDING'
union all
select child.id, 'cancel' from workflow_instance child join workflow_instance parent on parent.id = child.parent_id
where child.completed_at is null and parent.completed_at is not null`);

    // Without runs that are woken already, of which there are many when many delays end at once.
    this.addSql('drop index workflow_instance_wake');
    this.addSql(`
create index workflow_instance_wake on workflow_instance (wake_at)
where wake_at is not null and ready_at is null and held_by is null and completed_at is null`);
  }
}
