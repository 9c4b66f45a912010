import { Migration } from '@mikro-orm/migrations';

export class Migration20261121120000_ApiKeys extends Migration {
  override up(): void {
    this.addSql(`
create table api_key (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  api_key_name varchar(255) not null,
  api_key_description text,
  prefix varchar(8) not null,
  hash bytea not null check (length(hash) = 32),
  permissions jsonb not null default '[]',
  expires_at timestamptz,
  is_disabled boolean not null default false,
  last_used_at timestamptz,
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on api_key (prefix)');
    this.addSql('create index on api_key (tenant_id, created_at desc, id desc)');
  }
}
