import { Migration } from '@mikro-orm/migrations';

/**
 * Old code can run beside it: triggers write what it causes. A notification that cannot be written fails nothing: its cause may be the
 * commit of many runs.
 */
export class Migration20261123062000_Notifications extends Migration {
  override up(): void {
    this.addSql(`
create table notification (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  user_id uuid not null,
  kind varchar(32) not null,
  title varchar(255) not null,
  description text,
  subject_id uuid,
  action text not null,
  action_text varchar(255) not null,
  notifier_id uuid,
  read_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp()
)`);
    this.addSql('create index notification_list on notification (user_id, created_at desc, id desc)');
    this.addSql('create index notification_recent on notification (created_at)');
    this.addSql('create index notification_tenant on notification (tenant_id)');
    this.addSql('create index notification_subject on notification (subject_id) where read_at is null');
    // The oldest of a user make room. Rows that another transaction deletes are skipped, so that none waits.
    this.addSql(`
create function trim_notifications() returns trigger language plpgsql as $$
begin
  delete from notification where id in (
    select id from notification where user_id = new.user_id
    order by created_at desc, id desc offset ${MAX_KEPT} limit 100 for update skip locked
  );
  return null;
end $$`);
    this.addSql(`
create trigger notification_trim after insert on notification for each row execute function trim_notifications()`);
    this.askedPeople();
    this.stopped();
    this.joined();
  }

  /** Those whom a question names; without names, the user by whose request the run began. */
  private askedPeople(): void {
    this.addSql(`
create function notify_asked() returns trigger language plpgsql as $$
declare
  named jsonb := new.collection_config -> 'approvers';
begin
  insert into notification (tenant_id, user_id, kind, title, description, subject_id, action, action_text)
  select new.tenant_id, u.id, 'collectionRequest',
    case new.collection_type when 'approval' then 'Your approval is awaited' else 'Your answer is awaited' end,
    left(concat_ws(': ', w.title, new.collection_config ->> 'title'), 1000), new.id,
    '../tenants/' || new.tenant_id || '/workflows/data-collection/' || new.id, 'Answer'
  from membership m
  join app_user u on u.id = m.user_id and not u.is_disabled
  left join workflow w on w.id = new.workflow_id
  where m.tenant_id = new.tenant_id and case
    when jsonb_typeof(named) = 'array' then
      named ? u.id::text
      or (u.email_verified_at is not null and named ? lower(u.email))
      or exists (
        select from policy_rule g left join role r on g.role = 'role:' || r.id
        where g.tenant_id = new.tenant_id and g.kind = 'grouping' and g.subject = u.id::text and g.role like 'role:%'
          and (named ? substr(g.role, 6) or named ? lower(r.role_name)))
    else u.id = (
      select coalesce(i.caller -> 'requestedBy' ->> 'userID', i.caller ->> 'userID')::uuid
      from workflow_instance i where i.id = new.instance_id and not i.is_test)
    end
  order by u.id limit ${MAX_ASKED};
  return null;
exception when others then
  raise warning 'no notification of the request %: %', new.id, sqlerrm;
  return null;
end $$`);
    this.addSql(`
create trigger notify_asked after insert on collection_request for each row when (new.status = 'PENDING')
execute function notify_asked()`);
    // Of a question that is answered or has expired, no one need be told any more.
    this.addSql(`
create function close_notifications() returns trigger language plpgsql as $$
begin
  update notification set read_at = now() where id in (
    select id from notification where subject_id = new.id and read_at is null for update skip locked);
  return null;
end $$`);
    this.addSql(`
create trigger close_notifications after update of status on collection_request for each row
when (old.status = 'PENDING' and new.status <> 'PENDING') execute function close_notifications()`);
  }

  /** The creators of schedules and listeners that stop by themselves; again only when they have read it. */
  private stopped(): void {
    const stops = [
      { table: 'cron_job', kind: 'cronJobStopped', title: 'cron_job_title', reason: 'stop_reason', path: 'cronjobs' },
      { table: 'listener', kind: 'listenerStopped', title: 'listener_title', reason: 'last_error', path: 'listeners' },
    ];
    for (const { table, kind, title, reason, path } of stops)
      this.addSql(`
create function notify_${table}_stopped() returns trigger language plpgsql as $$
begin
  insert into notification (tenant_id, user_id, kind, title, description, subject_id, action, action_text)
  select new.tenant_id, new.creator_id, '${kind}', left(new.${title}, 200) || ' has stopped', left(new.${reason}, 1000), new.id,
    '../tenants/' || new.tenant_id || '/${path}/' || new.id, 'Show'
  from membership m where m.tenant_id = new.tenant_id and m.user_id = new.creator_id
    and not exists (select from notification n where n.subject_id = new.id and n.read_at is null);
  return null;
exception when others then
  raise warning 'no notification that ${table} % has stopped: %', new.id, sqlerrm;
  return null;
end $$`);
    this.addSql(`
create trigger notify_stopped after update on cron_job for each row
when (old.stopped_at is null and new.stopped_at is not null) execute function notify_cron_job_stopped()`);
    this.addSql(`
create trigger notify_stopped after update on listener for each row
when (old.status <> 'error' and new.status = 'error') execute function notify_listener_stopped()`);
  }

  /** A person who was added to a tenant by another. */
  private joined(): void {
    this.addSql(`
create function notify_joined() returns trigger language plpgsql as $$
begin
  insert into notification (tenant_id, user_id, kind, title, subject_id, action, action_text, notifier_id)
  select t.id, new.user_id, 'tenantJoined', left('You are a member of ' || t.tenant_title, 255), t.id,
    '../tenants/' || t.id, 'Open', nullif(current_setting('gantry.actor', true), '')::uuid
  from tenant t where t.id = new.tenant_id and t.creator_id <> new.user_id;
  return null;
exception when others then
  raise warning 'no notification of a membership: %', sqlerrm;
  return null;
end $$`);
    this.addSql(
      'create trigger notify_joined after insert on membership for each row execute function notify_joined()',
    );
  }
}

/** Of a user, in all tenants. */
const MAX_KEPT = 200;
/** Of one question. */
const MAX_ASKED = 50;
