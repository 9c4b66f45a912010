import { Migration } from '@mikro-orm/migrations';

export class Migration20261123070500_Bundles extends Migration {
  override up(): void {
    // By which key an asset travels in bundles. One without a row travels by its own id.
    this.addSql(`
create table bundle_key (
  tenant_id uuid not null,
  type varchar(16) not null,
  key uuid not null,
  asset_id uuid not null,
  -- Of the item that was imported last, and of the asset as that import has left it.
  item_hash varchar(64) not null,
  asset_hash varchar(64) not null,
  -- Paths of secrets that no import has brought.
  missing_secrets jsonb not null default '[]',
  updated_at timestamptz not null default now(),
  primary key (tenant_id, type, key)
)`);
    this.addSql('create unique index on bundle_key (tenant_id, asset_id)');
    this.addSql(`
create table bundle_import (
  id uuid primary key,
  tenant_id uuid not null,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_count integer not null,
  updated_count integer not null,
  rolled_back_at timestamptz,
  rolled_back_by uuid,
  changes jsonb not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on bundle_import (tenant_id, created_at desc, id desc)');
  }
}
