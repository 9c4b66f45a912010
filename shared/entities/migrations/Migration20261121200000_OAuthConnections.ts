import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121200000_OAuthConnections extends Migration {
  override up(): void {
    this.addSql(`
create table oauth_connection (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  provider varchar(64) not null,
  account_subject text,
  account_email text,
  scopes jsonb not null default '[]',
  tokens text not null,
  expires_at timestamptz(3),
  refresh_at timestamptz(3),
  refreshed_at timestamptz(3),
  status varchar(16) not null default 'connected',
  generation integer not null default 1,
  refresh_claim uuid,
  refresh_until timestamptz(3),
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on oauth_connection (tenant_id, created_at desc, id desc)');
    this.addSql(`
create table oauth_flow (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  oauth_connection_id uuid,
  caller jsonb not null,
  browser_hash char(64) not null,
  expires_at timestamptz(3) not null
)`);
    this.addSql('create index on oauth_flow (expires_at)');
    this.addSql('create index on oauth_flow (tenant_id)');
  }
}
