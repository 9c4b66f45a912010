import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows no variables, and a template of one is null there. */
export class Migration20261122140500_Variables extends Migration {
  override up(): void {
    this.addSql('alter table tenant add column variables_version bigint not null default 0');
    this.addSql(`
create table tenant_variable (
  id uuid primary key,
  tenant_id uuid not null references tenant(id) deferrable initially deferred,
  name varchar(64) not null,
  value jsonb,
  secret text,
  description text,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now(),
  unique (tenant_id, name),
  check ((value is null) <> (secret is null))
)`);
    this.addSql('create index on tenant_variable (tenant_id, created_at desc, id desc)');
    this.addSql(`
create function note_variables() returns trigger language plpgsql as $$
begin
  update tenant set variables_version = variables_version + 1 where id = coalesce(new.tenant_id, old.tenant_id);
  return null;
end $$`);
    this.addSql(`
create trigger tenant_variable_version after insert or update or delete on tenant_variable
for each row execute function note_variables()`);
  }
}
