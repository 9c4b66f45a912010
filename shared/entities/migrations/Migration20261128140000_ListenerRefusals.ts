import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it reads no such table. */
export class Migration20261128140000_ListenerRefusals extends Migration {
  override up(): void {
    this.addSql(`
create table listener_refusal (
  id uuid primary key,
  tenant_id uuid not null,
  listener_id uuid not null references listener(id) on delete cascade,
  refused_at timestamptz(3) not null default now(),
  expires_at timestamptz not null default now() + interval '1 day',
  status smallint not null,
  code text not null,
  reason text not null,
  address text,
  method text not null,
  path text not null,
  parameters text[] not null,
  headers jsonb not null,
  body bytea,
  body_bytes integer,
  omitted integer not null
)`);
    this.addSql('create index listener_refusal_newest on listener_refusal (listener_id, id)');
    this.addSql('create index listener_refusal_tenant on listener_refusal (tenant_id, id)');
    this.addSql('create index listener_refusal_expires on listener_refusal (expires_at)');
  }
}
