import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it does not read the column. */
export class Migration20261123030300_ListenerTests extends Migration {
  override up(): void {
    // While sockets are in its test room. They renew it, so that a gateway that dies leaves nothing behind.
    this.addSql('alter table listener add column tested_until timestamptz');
  }
}
