import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: runs that it accepts have no webhook, and a trigger notes the ends of the others. */
export class Migration20261122233500_CompletionWebhooks extends Migration {
  override up(): void {
    this.addSql('alter table workflow_instance add column completion_webhook jsonb');
    // That a run has ended of which its workflow's receiver is told, and each attempt to tell it.
    this.addSql(`
create table run_delivery (
  id uuid primary key default gen_random_uuid(),
  instance_id uuid not null unique,
  tenant_id uuid not null,
  workflow_id uuid not null,
  url text not null,
  secret text not null,
  status varchar(9) not null default 'PENDING' check (status in ('PENDING', 'DELIVERED', 'FAILED')),
  tries integer not null default 0,
  tries_since_asked integer not null default 0,
  next_at timestamptz default now(),
  attempts jsonb not null default '[]',
  created_at timestamptz not null default now(),
  settled_at timestamptz
)`);
    // Workflows take turns.
    this.addSql(
      'create index run_delivery_line on run_delivery (tenant_id, workflow_id, next_at) where next_at is not null',
    );
    this.addSql('create index run_delivery_due on run_delivery (next_at) where next_at is not null');
    this.addSql('create index run_delivery_list on run_delivery (tenant_id, workflow_id, created_at desc, id desc)');

    this.addSql(`
create function note_completion() returns trigger language plpgsql as $$
begin
  insert into run_delivery (instance_id, tenant_id, workflow_id, url, secret)
  values (new.id, new.tenant_id, new.workflow_id, new.completion_webhook ->> 'url', new.completion_webhook ->> 'secret');
  return null;
end $$`);
    // In the transaction that ends the run, wherever that is.
    this.addSql(`
create trigger completed_run after update of completed_at on workflow_instance for each row
when (new.completion_webhook is not null and old.completed_at is null and new.completed_at is not null
  and jsonb_exists(new.completion_webhook -> 'on', new.status::text))
execute function note_completion()`);
  }
}
