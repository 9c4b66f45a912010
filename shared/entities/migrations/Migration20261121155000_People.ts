import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it only adds. */
export class Migration20261121155000_People extends Migration {
  override up(): void {
    for (const table of ['role', 'invitation', 'membership'])
      this.addSql(`alter table ${table} add column folder_id uuid`);
    this.addSql('alter table membership add column updated_at timestamptz not null default now()');
    this.addSql('update membership set updated_at = created_at');
    this.addSql(`
create or replace view tenant_user as
select u.id, m.tenant_id, u.email, u.first_name, u.last_name, u.is_disabled, m.role, false as is_pending,
       '[]'::jsonb as role_ids, m.created_at, m.updated_at, m.folder_id, u.last_seen
from membership m join app_user u on u.id = m.user_id
union all
select id, tenant_id, email, null, null, false, 'MEMBER', true, role_ids, created_at, updated_at, folder_id, null
from invitation`);
    // For the operators' list of all users.
    this.addSql('create index on app_user (created_at desc, id desc)');
    // For the keys of a user who leaves a tenant.
    this.addSql('create index on api_key (tenant_id, creator_id)');
  }
}
