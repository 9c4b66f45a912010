import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it knows neither the table nor events that are held. */
export class Migration20261123023900_ListenerBreakers extends Migration {
  override up(): void {
    // A row while attempts of a listener fail one after the other; `opened_at` while its events are held for that.
    this.addSql(`
create table listener_breaker (
  listener_id uuid primary key,
  tenant_id uuid not null,
  failures integer not null default 0,
  opens integer not null default 0,
  opened_at timestamptz,
  probe_at timestamptz,
  probe_id uuid,
  probe_until timestamptz,
  error jsonb
)`);
    this.addSql('create index listener_breaker_tenant on listener_breaker (tenant_id)');
    this.addSql('create index listener_breaker_open on listener_breaker (probe_at) where opened_at is not null');
  }
}
