import { Migration } from '@mikro-orm/migrations';

/** Assets have had a column for the id of a folder before; old code, which stores any id in it, can run beside this. */
export class Migration20261123032000_Folders extends Migration {
  override up(): void {
    this.addSql(`
create table folder (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  folder_title varchar(255) not null,
  entity_type varchar(32) not null,
  parent_folder_id uuid,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on folder (tenant_id, created_at desc, id desc)');
  }
}
