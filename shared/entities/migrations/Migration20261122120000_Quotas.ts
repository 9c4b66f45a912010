import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows no quotas, and so applies none. */
export class Migration20261122120000_Quotas extends Migration {
  override up(): void {
    // Of a tenant or a user. Without a row the default of the code counts.
    this.addSql(`
create table quota (
  owner_id uuid not null,
  name text not null,
  max bigint not null check (max >= 0),
  updated_at timestamptz not null default now(),
  primary key (owner_id, name)
)`);
    this.addSql('create index tenant_creator on tenant (creator_id)');
  }
}
