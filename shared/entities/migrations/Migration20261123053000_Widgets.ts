import { Migration } from '@mikro-orm/migrations';

export class Migration20261123053000_Widgets extends Migration {
  override up(): void {
    this.addSql(`
create table widget (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  widget_title varchar(255) not null,
  widget_description text,
  widget_type varchar(255) not null,
  widget_config jsonb not null,
  refresh_interval integer not null default 0,
  folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on widget (tenant_id, created_at desc, id desc)');
  }
}
