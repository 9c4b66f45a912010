import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it only adds. A user whom old code signs in is verified again by the next sign-in in new code. */
export class Migration20261121140000_Roles extends Migration {
  override up(): void {
    // A role without a tenant belongs to the deployment.
    this.addSql(`
create table role (
  id uuid primary key,
  tenant_id uuid references tenant(id) deferrable initially deferred,
  role_name varchar(255) not null,
  role_description text,
  permissions jsonb not null,
  asset_permissions jsonb not null default '[]',
  creator_id uuid,
  created_by_api_key_id uuid,
  spreading_at timestamptz,
  deleting_at timestamptz,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on role (tenant_id, created_at desc, id desc)');
    this.addSql('create index on role (created_at desc, id desc)');
    this.addSql('create index on role (spreading_at) where spreading_at is not null');
    this.addSql(`create index policy_rule_role on policy_rule (role, tenant_id) where kind = 'grouping'`);
    this.addSql(`create index policy_rule_of_role on policy_rule (subject, tenant_id) where subject like 'role:%'`);
    this.addSql(`
create table invitation (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  email text not null,
  role_ids jsonb not null default '[]',
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, email)
)`);
    this.addSql('create index on invitation (email)');
    this.addSql('create index on invitation (tenant_id, created_at desc, id desc)');
    this.addSql('create index on membership (tenant_id, created_at desc, user_id desc)');
    this.addSql('alter table app_user add column email_verified_at timestamptz');
    // ASCII letters alone: an address with a letter of another script that is ASCII in lower case is another address.
    this.addSql(
      'create index app_user_verified_email on app_user (lower(email collate "C")) where email_verified_at is not null',
    );
    this.addSql(`
create view tenant_user as
select u.id, m.tenant_id, u.email, u.first_name, u.last_name, u.is_disabled, m.role, false as is_pending,
       '[]'::jsonb as role_ids, m.created_at
from membership m join app_user u on u.id = m.user_id
union all
select id, tenant_id, email, null, null, false, 'MEMBER', true, role_ids, created_at
from invitation`);
  }
}
