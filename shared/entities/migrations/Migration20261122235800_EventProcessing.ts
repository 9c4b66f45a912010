import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it writes none of the new columns, and no event in the new state. */
export class Migration20261122235800_EventProcessing extends Migration {
  override up(): void {
    // Attempts before the event was given to workers again: it has as many again. And for operators, why it was given up.
    this.addSql(
      'alter table listener_event add column attempts_before integer not null default 0, add column error_stack text',
    );
    // Not checked for rows that are there: the states that they have stay valid.
    this.addSql(`
alter table listener_event drop constraint listener_event_state_check,
  add constraint listener_event_state_check
  check (state in ('pending', 'done', 'filtered', 'duplicate', 'dead', 'replaced')) not valid`);
    // Of all tenants, for the board.
    this.addSql(`create index listener_event_newest_dead on listener_event (finished_at desc) where state = 'dead'`);
    // Of a listener, for those who look at them, redrive them or purge them.
    this.addSql(`create index listener_event_dead_letters on listener_event (listener_id, id) where state = 'dead'`);

    this.addSql(`
create table listener_buffer (
  id uuid primary key,
  tenant_id uuid not null,
  listener_id uuid not null references listener(id) on delete cascade,
  event_id uuid not null,
  buffer_name varchar(100) not null,
  seq_no bigint generated always as identity,
  event_data jsonb not null,
  event_meta jsonb not null default '{}',
  bytes integer not null,
  received_at timestamptz(3) not null,
  expires_at timestamptz
)`);
    this.addSql(`
create index listener_buffer_order on listener_buffer (listener_id, buffer_name, received_at desc, id desc) include (bytes)`);
    this.addSql('create index listener_buffer_tenant on listener_buffer (tenant_id) include (bytes)');
    this.addSql('create index listener_buffer_expires on listener_buffer (expires_at) where expires_at is not null');
    // The tenants whose listeners send events to a page.
    this.addSql(`
create index listener_action_page on listener_action ((action_config ->> 'appPageID'))
where action_type = 'push_to_app_page'`);
  }
}
