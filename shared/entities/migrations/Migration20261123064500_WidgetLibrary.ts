import { Migration } from '@mikro-orm/migrations';

export class Migration20261123064500_WidgetLibrary extends Migration {
  override up(): void {
    this.addSql(`
create table widget_library_entry (
  id uuid primary key,
  widget_title varchar(255) not null,
  widget_description text,
  widget_type varchar(255) not null,
  bundle jsonb not null,
  source_tenant_id uuid,
  published_by_user_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on widget_library_entry (created_at desc, id desc)');
    this.addSql('create index on widget_library_entry (source_tenant_id) where source_tenant_id is not null');
  }
}
