import { Migration } from '@mikro-orm/migrations';

/** An older process stores into Postgres, for datasources, and its deletes leave garbage by the trigger as well. */
export class Migration20261123060500_FileStores extends Migration {
  override up(): void {
    this.addSql(`
alter table tenant_file
  add column store varchar(16) not null default 'postgres',
  add column purpose varchar(16) not null default 'datasource'`);
    this.addSql(`
create table file_garbage (
  store varchar(16) not null,
  key text not null,
  due_at timestamptz not null,
  primary key (store, key)
)`);
    this.addSql('create index on file_garbage (due_at)');
    this.addSql(`
create function note_file_garbage() returns trigger language plpgsql as $$
begin
  insert into file_garbage (store, key, due_at) values (old.store, old.tenant_id || '/' || old.id, now())
  on conflict (store, key) do update set due_at = now();
  return null;
end $$`);
    this.addSql(`
create trigger note_file_garbage after delete on tenant_file
for each row when (old.store <> 'postgres') execute function note_file_garbage()`);
  }
}
