import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: everything is added. */
export class Migration20261121180000_TenantFiles extends Migration {
  override up(): void {
    this.addSql(`
create table tenant_file (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  file_name varchar(255) not null,
  file_type varchar(255) not null,
  file_size integer not null,
  digest char(64) not null,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now()
)`);
    this.addSql('create index on tenant_file (tenant_id, created_at desc, id desc)');
    this.addSql(`
create table tenant_file_chunk (
  file_id uuid not null references tenant_file(id) on delete cascade,
  position integer not null,
  bytes bytea not null,
  primary key (file_id, position)
)`);
    // Uploaded files are often compressed already, and then another attempt costs more than it saves.
    this.addSql('alter table tenant_file_chunk alter column bytes set storage external');
  }
}
