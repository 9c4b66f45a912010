import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: its questions have no `notBy`. Who may not answer a question is not told of it. */
export class Migration20261129140000_NotByStarter extends Migration {
  override up(): void {
    this.addSql(`
create or replace function notify_asked() returns trigger language plpgsql as $$
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
  where m.tenant_id = new.tenant_id and u.id::text is distinct from new.collection_config ->> 'notBy' and case
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
  }
}

/** The most members that are notified of one question. */
const MAX_ASKED = 50;
