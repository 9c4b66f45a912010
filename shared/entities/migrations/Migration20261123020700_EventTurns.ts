import { Migration } from '@mikro-orm/migrations';

/**
 * Old code can run beside it: it records no event with a key, and an event that is held has a `ready_at` that it does not reach.
 */
export class Migration20261123020700_EventTurns extends Migration {
  override up(): void {
    // Why an event is not processed until something else happens. Its `ready_at` is far in the future meanwhile.
    this.addSql('alter table listener_event add column held_by varchar(12), add column order_seq bigint');
    // The order of receipt. By the clocks of several servers it would not be one.
    this.addSql('create sequence listener_event_order');
    this.addSql(`
create index listener_event_line on listener_event (listener_id, order_key, order_seq)
where order_key is not null and finished_at is null`);
    // Two dispatchers that see different moments cannot both give out an event of one key.
    this.addSql(`
create unique index listener_event_turn on listener_event (listener_id, order_key)
where order_key is not null and dispatched_at is not null and finished_at is null`);
    this.addSql(`
create index listener_event_held on listener_event (held_by, listener_id, order_key, id) where held_by is not null`);
  }
}
